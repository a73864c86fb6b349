// tokenize: strings cut into tokens by regular expressions.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/packed_numbers.h"

namespace dyn {

namespace {

constexpr AttributeSpec kTokenizeAttributes[] = {
    {"expressions", AttributeKind::strings, false,
     "regular expressions in the syntax of RE2, of which the longest match counts; none: each letter is a "
     "token",
     Allowed::byRule("expressions of RE2")},
    {"by_tokens", AttributeKind::integer, false,
     "1: the matches of the one expression are the tokens; 0: they are what stands between the matches of "
     "all "
     "of them, one after the other; default 0",
     Allowed::flag()},
    {"least_letters", AttributeKind::integer, false, "shorter tokens are left out; default 1",
     Allowed::between(1, INT32_MAX)},
    {"marked", AttributeKind::integer, false,
     "1: the tokens of a string stand between the control characters 2 and 3; default 0", Allowed::flag()},
    {"padding", AttributeKind::string, false, "what fills rows up; default empty", Allowed::any()},
};

Status inferTokenize(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireDtype(c, x, Dtype::string, "the operand"));
  if (x.rank() != 1 && x.rank() != 2)
    return c.error(DiagnosticId::rankMismatch, "the operand is [m] or [b, m], it is " + x.type.toString());
  if (c.attributes().integer("by_tokens", 0) != 0 && c.attributes().strings("expressions").size() != 1)
    return c.error(DiagnosticId::badAttribute, "by_tokens goes with one expression");
  Shape shape = x.dims;
  shape.push_back(c.fresh("tokenize finds the most tokens of a string"));
  setTensor(c, shape, Dtype::string);
  return {};
}

using Tokens = std::vector<std::string>;

size_t letterBytes(const std::string& text, size_t place) {
  const auto first = static_cast<unsigned char>(text[place]);
  const size_t bytes = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(bytes, text.size() - place);
}

Tokens lettersOf(const std::string& text) {
  Tokens letters;
  for (size_t place = 0; place < text.size(); place += letters.back().size())
    letters.push_back(text.substr(place, letterBytes(text, place)));
  return letters;
}

// By the standard library, whose dialect agrees for what both know; the runtime has a matcher of its own.
struct ReferenceTokenizer {
  std::vector<std::regex> expressions;
  bool byTokens = false;
  int64_t leastLetters = 1;

  bool isLong(const std::string& token) const {
    return static_cast<int64_t>(lettersOf(token).size()) >= leastLetters;
  }

  static bool find(const std::regex& expression, const std::string& text, size_t from, size_t& begin,
                   size_t& end) {
    std::smatch match;
    const auto flags =
        from > 0 ? std::regex_constants::match_prev_avail : std::regex_constants::match_default;
    if (!std::regex_search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), match, expression,
                           flags))
      return false;
    begin = from + static_cast<size_t>(match.position(0));
    end = begin + static_cast<size_t>(match.length(0));
    return true;
  }

  void cut(const std::string& text, const std::regex& separator, Tokens& pieces) const {
    size_t start = 0, begin = 0, end = 0;
    while (start <= text.size() && find(separator, text, start, begin, end)) {
      if (std::string piece = text.substr(start, begin - start); isLong(piece)) pieces.push_back(piece);
      if (end == begin && begin == text.size()) return;
      start = end > begin ? end : begin + letterBytes(text, begin);
    }
    if (std::string rest = text.substr(start); isLong(rest)) pieces.push_back(rest);
  }

  Tokens of(const std::string& text) const {
    if (expressions.empty()) return lettersOf(text);
    if (byTokens) return matchesIn(text);
    Tokens row = {text};
    for (const std::regex& separator : expressions) {
      Tokens pieces;
      for (const std::string& piece : row) cut(piece, separator, pieces);
      row = std::move(pieces);
    }
    return row;
  }

  Tokens matchesIn(const std::string& text) const {
    Tokens tokens;
    size_t start = 0, begin = 0, end = 0;
    while (start <= text.size() && find(expressions[0], text, start, begin, end)) {
      const std::string token = text.substr(begin, end - begin);
      if (!token.empty() && isLong(token)) {
        tokens.push_back(token);
        start = end;
      } else if (begin == text.size()) {
        break;
      } else {
        start = begin + letterBytes(text, begin);
      }
    }
    return tokens;
  }
};

Status evaluateTokenize(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  ReferenceTokenizer tokenizer;
  tokenizer.byTokens = c.attributes().integer("by_tokens", 0) != 0;
  tokenizer.leastLetters = c.attributes().integer("least_letters", 1);
  try {
    for (const std::string& expression : c.attributes().strings("expressions"))
      tokenizer.expressions.emplace_back(expression, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return c.error(DiagnosticId::runtimeError,
                   std::string("an expression is not understood: ") + error.what());
  }
  std::vector<Tokens> rows;
  size_t most = 0;
  for (const std::string& text : x.stringValues()) {
    rows.push_back(tokenizer.of(text));
    most = std::max(most, rows.back().size());
  }
  const bool marked = c.attributes().integer("marked", 0) != 0 && most > 0;
  const size_t width = most + (marked ? 2 : 0);
  const std::string padding = c.attributes().string("padding");
  std::vector<std::string> all;
  for (Tokens& row : rows) {
    if (marked) {
      row.insert(row.begin(), "\x02");
      row.push_back("\x03");
    }
    row.resize(width, padding);
    all.insert(all.end(), row.begin(), row.end());
  }
  std::vector<int64_t> shape = x.shape();
  shape.push_back(static_cast<int64_t>(width));
  c.setResult(0, HostTensor::strings(std::move(shape), std::move(all)));
  return {};
}

Status fillTokenize(const BuiltinRequest& request, CallFields<calls::Tokenize>& call) {
  const Attributes& attributes = request.op.attributes;
  const std::vector<std::string> expressions = attributes.strings("expressions");
  call.numbers.marked = attributes.integer("marked", 0) != 0;
  call.numbers.byTokens = attributes.integer("by_tokens", 0) != 0;
  call.numbers.leastLetters = static_cast<int32_t>(attributes.integer("least_letters", 1));
  call.numbers.expressionCount = static_cast<int32_t>(expressions.size());
  packText(&call.numbers.padding, attributes.string("padding"));
  for (const std::string& expression : expressions) packText(&call.numbers.expressions, expression);
  return {};
}

}  // namespace

namespace ops {

const OpDef tokenizeOp{
    .name = "tokenize",
    .summary = "strings cut into tokens by regular expressions",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kTokenizeAttributes,
    .infer = inferTokenize,
    .evaluate = evaluateTokenize,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Tokenize, fillTokenize>,
    .operandRules = kAnyElements,
    .doc = "[m] or [b, m] -> [m, ?] or [b, m, ?]",
    .example =
        "fn @main(%x: Tensor[(n), string]) { %y = tokenize(%x) {expressions = [\"[a-z]+\"], by_tokens = 1} "
        "return %y }",
};

}  // namespace ops
}  // namespace dyn
