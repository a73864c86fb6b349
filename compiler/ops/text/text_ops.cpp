// Operators on strings. In the runtime each is a builtin; what a string is there, kernels do not know.
#include <algorithm>
#include <optional>
#include <regex>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/packed_numbers.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

namespace {

Result<TensorOperand> textOperand(const InferContext& c, int i) {
  DYN_TRY(TensorOperand x, tensorOperand(c, i));
  DYN_CHECK(requireDtype(c, x, Dtype::string, "the operand"));
  return x;
}

// --- string_concat

Status inferStringConcat(InferContext& c) {
  DYN_TRY(TensorOperand a, textOperand(c, 0));
  DYN_TRY(TensorOperand b, textOperand(c, 1));
  DYN_TRY(Shape shape, broadcastShapes(c, a.dims, b.dims));
  setTensor(c, shape, Dtype::string);
  return {};
}

Status evaluateStringConcat(EvalContext& c) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  const std::optional<std::vector<int64_t>> shape = broadcastConcrete(a.shape(), b.shape());
  if (!shape)
    return c.error(DiagnosticId::shapeMismatch, shapeText(a.shape()) + " and " + shapeText(b.shape()));
  DYN_TRY(HostTensor result, newTensor(Dtype::string, *shape));
  OffsetWalk walk(*shape, {broadcastStrides(a.shape(), *shape), broadcastStrides(b.shape(), *shape)});
  std::vector<std::string>& texts = result.mutableStringValues();
  for (std::string& text : texts) {
    text = a.stringValues()[static_cast<size_t>(walk.offset(0))] +
           b.stringValues()[static_cast<size_t>(walk.offset(1))];
    walk.next();
  }
  c.setResult(0, std::move(result));
  return {};
}

// --- string_split

constexpr AttributeSpec kTextSplitAttributes[] = {
    {"delimiter", AttributeKind::string, false, "empty: runs of white space, also at the ends; default empty",
     Allowed::any()},
    {"maxsplit", AttributeKind::integer, false, "at most so many cuts, from the left; -1: all; default -1",
     Allowed::atLeast(-1)},
};

Status inferStringSplit(InferContext& c) {
  DYN_TRY(TensorOperand x, textOperand(c, 0));
  Shape shape = x.dims;
  shape.push_back(c.fresh("string_split finds the most pieces of an element"));
  setTensor(c, shape, Dtype::string);
  setTensor(c, x.dims, Dtype::i64, 1);
  return {};
}

bool isSpace(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }

std::vector<std::string> piecesOf(const std::string& text, const std::string& delimiter, int64_t cuts) {
  std::vector<std::string> pieces;
  size_t begin = 0;
  const auto more = [&] { return cuts < 0 || static_cast<int64_t>(pieces.size()) < cuts; };
  if (!delimiter.empty()) {
    for (size_t end; more() && (end = text.find(delimiter, begin)) != std::string::npos;) {
      pieces.push_back(text.substr(begin, end - begin));
      begin = end + delimiter.size();
    }
    pieces.push_back(text.substr(begin));
    return pieces;
  }
  for (;;) {
    while (begin < text.size() && isSpace(text[begin])) ++begin;
    if (begin == text.size()) return pieces;
    size_t end = text.size();
    if (more())
      end = static_cast<size_t>(
          std::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), isSpace) -
          text.begin());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
}

Status evaluateStringSplit(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::string delimiter = c.attributes().string("delimiter");
  const int64_t cuts = c.attributes().integer("maxsplit", -1);
  std::vector<std::vector<std::string>> all;
  size_t most = 0;
  DYN_TRY(HostTensor counts, newTensor(Dtype::i64, x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    all.push_back(piecesOf(x.stringValues()[static_cast<size_t>(i)], delimiter, cuts));
    counts.setInt(i, static_cast<int64_t>(all.back().size()));
    most = std::max(most, all.back().size());
  }
  std::vector<int64_t> shape = x.shape();
  shape.push_back(static_cast<int64_t>(most));
  std::vector<std::string> texts;
  for (std::vector<std::string>& pieces : all) {
    pieces.resize(most);
    texts.insert(texts.end(), pieces.begin(), pieces.end());
  }
  c.setResult(0, HostTensor::strings(std::move(shape), std::move(texts)));
  c.setResult(1, std::move(counts));
  return {};
}

Status fillStringSplit(const BuiltinRequest& request, CallFields<calls::StringSplit>& call) {
  const Attributes& attributes = request.op.attributes;
  call.numbers.mostCuts =
      static_cast<int32_t>(std::min<int64_t>(attributes.integer("maxsplit", -1), INT32_MAX));
  packText(&call.numbers.delimiter, attributes.string("delimiter"));
  return {};
}

// --- string_normalize

constexpr AttributeSpec kNormalizeAttributes[] = {
    {"case", AttributeKind::string, false, "of the results: lower, upper or none (kept); default none",
     Allowed::oneOf("lower upper none")},
    {"is_case_sensitive", AttributeKind::integer, false, "1: stop words match by case; default 0",
     Allowed::flag()},
    {"stopwords", AttributeKind::strings, false, "elements that are left out", Allowed::any()},
};

enum class CaseChange : int32_t { none = DYN_CASE_NONE, lower = DYN_CASE_LOWER, upper = DYN_CASE_UPPER };

std::optional<CaseChange> caseOf(const Attributes& attributes) {
  const std::string name = attributes.string("case", "none");
  if (name == "none") return CaseChange::none;
  if (name == "lower") return CaseChange::lower;
  if (name == "upper") return CaseChange::upper;
  return std::nullopt;
}

Status inferStringNormalize(InferContext& c) {
  DYN_TRY(TensorOperand x, textOperand(c, 0));
  if (x.rank() != 1 && x.rank() != 2)
    return c.error(DiagnosticId::rankMismatch, "the operand is [m] or [1, m], it is " + x.type.toString());
  if (x.rank() == 2) DYN_CHECK(c.requireEqual(x.dims[0], constantDim(c, 1), "a matrix has one row"));
  if (!caseOf(c.attributes()))
    return c.error(DiagnosticId::badAttribute,
                   "case \"" + c.attributes().string("case") + "\" is unknown; known: none, lower, upper");
  Shape shape = x.dims;
  shape.back() = c.fresh("string_normalize counts what is not a stop word");
  setTensor(c, shape, Dtype::string);
  return {};
}

// Letters of ASCII and, in UTF-8, of Latin-1, Greek and Cyrillic whose other case is a fixed distance away.
std::string changed(std::string text, CaseChange change) {
  if (change == CaseChange::none) return text;
  const bool toUpper = change == CaseChange::upper;
  struct Letters {
    int first, last, distance;  // lower-case letters, and how far above their upper-case forms they are
  };
  constexpr Letters kPairs[] = {{0xe0, 0xf6, 0x20},   {0xf8, 0xfe, 0x20},   {0x3b1, 0x3c1, 0x20},
                                {0x3c3, 0x3cb, 0x20}, {0x430, 0x44f, 0x20}, {0x450, 0x45f, 0x50}};
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      if (toUpper && byte >= 'a' && byte <= 'z') text[i] = static_cast<char>(byte - 0x20);
      if (!toUpper && byte >= 'A' && byte <= 'Z') text[i] = static_cast<char>(byte + 0x20);
      continue;
    }
    if ((byte & 0xe0) != 0xc0 || i + 1 == text.size()) continue;
    int letter = (byte & 0x1f) << 6 | (static_cast<unsigned char>(text[i + 1]) & 0x3f);
    for (const Letters& pair : kPairs) {
      const int low = toUpper ? letter : letter + pair.distance;
      if (low < pair.first || low > pair.last) continue;
      letter += toUpper ? -pair.distance : pair.distance;
      break;
    }
    text[i] = static_cast<char>(0xc0 | letter >> 6);
    text[++i] = static_cast<char>(0x80 | (letter & 0x3f));
  }
  return text;
}

Status evaluateStringNormalize(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const bool byCase = c.attributes().integer("is_case_sensitive", 0) != 0;
  const CaseChange change = *caseOf(c.attributes());
  const auto comparable = [&](const std::string& text) {
    return byCase ? text : changed(text, CaseChange::lower);
  };
  std::vector<std::string> stops, kept;
  for (const std::string& word : c.attributes().strings("stopwords")) stops.push_back(comparable(word));
  for (const std::string& text : x.stringValues()) {
    if (std::find(stops.begin(), stops.end(), comparable(text)) == stops.end())
      kept.push_back(changed(text, change));
  }
  if (kept.empty()) kept.emplace_back();
  std::vector<int64_t> shape = x.shape();
  shape.back() = static_cast<int64_t>(kept.size());
  c.setResult(0, HostTensor::strings(std::move(shape), std::move(kept)));
  return {};
}

Status fillStringNormalize(const BuiltinRequest& request, CallFields<calls::StringNormalize>& call) {
  const Attributes& attributes = request.op.attributes;
  const std::vector<std::string> stops = attributes.strings("stopwords");
  call.numbers.change = static_cast<int32_t>(*caseOf(attributes));
  call.numbers.byCase = attributes.integer("is_case_sensitive", 0) != 0;
  call.numbers.stopWordCount = static_cast<int32_t>(stops.size());
  for (const std::string& word : stops) packText(&call.numbers.stopWords, word);
  return {};
}

// --- regex_full_match

constexpr AttributeSpec kRegexAttributes[] = {
    {"pattern", AttributeKind::string, true, "a regular expression in the syntax of RE2",
     Allowed::byRule("an expression of RE2")},
};

Status inferRegexFullMatch(InferContext& c) {
  DYN_TRY(TensorOperand x, textOperand(c, 0));
  setTensor(c, x.dims, Dtype::boolean);
  return {};
}

// By the standard library, whose dialect agrees for what both know; the runtime has a matcher of its own.
Status evaluateRegexFullMatch(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(Dtype::boolean, x.shape()));
  try {
    const std::regex pattern(c.attributes().string("pattern"), std::regex::ECMAScript);
    for (int64_t i = 0; i < x.elementCount(); ++i)
      result.setInt(i, std::regex_match(x.stringValues()[static_cast<size_t>(i)], pattern));
  } catch (const std::regex_error& error) {
    return c.error(DiagnosticId::runtimeError, std::string("the pattern is not understood: ") + error.what());
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillRegex(const BuiltinRequest& request, CallFields<calls::RegexFullMatch>& call) {
  packText(&call.numbers.expression, request.op.attributes.string("pattern"));
  return {};
}

}  // namespace

namespace ops {

const OpDef string_concatOp{
    .name = "string_concat",
    .summary = "strings one behind the other",
    .cls = OpClass::opaque,
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferStringConcat,
    .evaluate = evaluateStringConcat,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::StringConcat>,
    .operandRules = kAnyElements,
    .doc = "[...a], [...b] -> broadcast(a, b)",
    .example =
        "fn @main(%x: Tensor[(n), string], %y: Tensor[(1), string]) { %z = string_concat(%x, %y) return %z }",
};

const OpDef string_splitOp{
    .name = "string_split",
    .summary = "strings cut into pieces",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 2,
    .attributes = kTextSplitAttributes,
    .infer = inferStringSplit,
    .evaluate = evaluateStringSplit,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::StringSplit, fillStringSplit>,
    .operandRules = kAnyElements,
    .doc = "[...] -> pieces [..., ?], filled up with empty strings, and their number [...] i64",
    .example =
        "fn @main(%x: Tensor[(n), string]) { %p, %c = string_split(%x) {delimiter = \",\"} return %p, %c }",
};

const OpDef string_normalizeOp{
    .name = "string_normalize",
    .summary = "strings without stop words, in one case",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kNormalizeAttributes,
    .infer = inferStringNormalize,
    .evaluate = evaluateStringNormalize,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::StringNormalize, fillStringNormalize>,
    .operandRules = kAnyElements,
    .doc = "[m] or [1, m] -> [?] or [1, ?]; one empty string when all are stop words",
    .example = "fn @main(%x: Tensor[(n), string]) { %y = string_normalize(%x) {case = \"upper\"} return %y }",
};

const OpDef regex_full_matchOp{
    .name = "regex_full_match",
    .summary = "which strings match a regular expression from begin to end",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kRegexAttributes,
    .infer = inferRegexFullMatch,
    .evaluate = evaluateRegexFullMatch,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::RegexFullMatch, fillRegex>,
    .operandRules = kAnyElements,
    .doc = "[...] -> [...] bool",
    .example = "fn @main(%x: Tensor[(n), string]) { %y = regex_full_match(%x) {pattern = \"a+\"} return %y }",
};

}  // namespace ops
}  // namespace dyn
