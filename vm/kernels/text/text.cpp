// string_concat, string_equal, string_split, string_normalize, regex_full_match. Texts are bytes, taken as
// UTF-8 where letters matter.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/packed_numbers.h"
#include "vm/kernels/text/regular_expression.h"
#include "vm/kernels/text/string_elements.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

Status badNumbers(const char* builtin) {
  return failure(DYN_BAD_INPUT, std::string(builtin) + ": its packed numbers are malformed");
}

// The shape of both, broadcast, and for each element of it the places in both.
class TextPairs {
 public:
  // So many numbers of memory it takes.
  template <typename AnyTensor>
  static size_t tableSize(const AnyTensor* a, const AnyTensor* b) {
    return 3 * std::max<size_t>(a->rank, b->rank);
  }
  // Tensors of a hosted or a flat call.
  template <typename AnyTensor>
  static Status make(const AnyTensor* a, const AnyTensor* b, int64_t* memory, TextPairs& pairs) {
    const auto rankA = static_cast<size_t>(a->rank), rankB = static_cast<size_t>(b->rank),
               rank = std::max(rankA, rankB);
    std::fill_n(memory, 3 * rank, 0);
    pairs.shape = {memory, rank};
    pairs.stepsA_ = {memory + rank, rank};
    pairs.stepsB_ = {memory + 2 * rank, rank};
    int64_t stepA = 1, stepB = 1;
    for (size_t back = 0; back < rank; ++back) {
      const size_t axis = rank - 1 - back;
      const int64_t sizeA = back < rankA ? a->shape()[rankA - 1 - back] : 1,
                    sizeB = back < rankB ? b->shape()[rankB - 1 - back] : 1;
      if (sizeA != sizeB && sizeA != 1 && sizeB != 1)
        return failure(DYN_BAD_INPUT, describe(a) + " and " + describe(b) + " do not broadcast");
      pairs.shape[axis] = sizeA == 1 ? sizeB : sizeA;
      if (sizeA != 1) pairs.stepsA_[axis] = stepA;
      if (sizeB != 1) pairs.stepsB_[axis] = stepB;
      stepA *= sizeA;
      stepB *= sizeB;
    }
    return okStatus();
  }

  // visit(place in the result, in a, in b).
  template <typename Visitor>
  void visit(int64_t count, Visitor&& visitor) const {
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t rest = flat, a = 0, b = 0;
      for (size_t axis = shape.size(); axis-- > 0;) {
        a += rest % shape[axis] * stepsA_[axis];
        b += rest % shape[axis] * stepsB_[axis];
        rest /= shape[axis];
      }
      visitor(flat, a, b);
    }
  }

  std::span<int64_t> shape;

 private:
  std::span<int64_t> stepsA_, stepsB_;
};

bool isSpace(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }

std::vector<std::string_view> split(std::string_view text, std::string_view delimiter, int64_t cuts) {
  std::vector<std::string_view> pieces;
  const bool bySpace = delimiter.empty();
  const auto skipSpace = [&] {
    while (bySpace && !text.empty() && isSpace(text.front())) text.remove_prefix(1);
  };
  skipSpace();
  while (cuts < 0 || static_cast<int64_t>(pieces.size()) < cuts) {
    const size_t end =
        bySpace ? static_cast<size_t>(std::find_if(text.begin(), text.end(), isSpace) - text.begin())
                : text.find(delimiter);
    if (end >= text.size() && (bySpace || end == std::string_view::npos)) break;
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(bySpace ? end : end + delimiter.size());
    skipSpace();
  }
  if (!bySpace || !text.empty()) pieces.push_back(text);
  return pieces;
}

// The letters that have another case: ASCII, and the two-byte ranges of UTF-8 where it lies a fixed distance
// away.
struct LetterRange {
  uint32_t firstLower, lastLower, distance;
};
constexpr LetterRange kLetters[] = {{'a', 'z', 0x20},     {0xe0, 0xf6, 0x20},   {0xf8, 0xfe, 0x20},
                                    {0x3b1, 0x3c1, 0x20}, {0x3c3, 0x3cb, 0x20}, {0x430, 0x44f, 0x20},
                                    {0x450, 0x45f, 0x50}};

uint32_t inCase(uint32_t letter, bool upper) {
  for (const LetterRange& range : kLetters) {
    const uint32_t offset = upper ? 0 : range.distance;
    if (letter + offset >= range.firstLower && letter + offset <= range.lastLower)
      return upper ? letter - range.distance : letter + range.distance;
  }
  return letter;
}

std::string withCase(std::string_view text, bool upper) {
  std::string made(text);
  for (size_t i = 0; i < made.size(); ++i) {
    const auto first = static_cast<uint8_t>(made[i]);
    if (first < 0x80) {
      made[i] = static_cast<char>(inCase(first, upper));
    } else if ((first & 0xe0) == 0xc0 && i + 1 < made.size()) {
      const uint32_t letter =
          inCase((first & 0x1fu) << 6 | (static_cast<uint8_t>(made[i + 1]) & 0x3fu), upper);
      made[i] = static_cast<char>(0xc0 | letter >> 6);
      made[++i] = static_cast<char>(0x80 | (letter & 0x3f));
    }
  }
  return made;
}

}  // namespace

Status stringConcat(BuiltinCall& call) {
  const Tensor *a = nullptr, *b = nullptr;
  if (Status status = stringArgument(call, "string_concat", calls::StringConcat::a, a); !status.ok())
    return status;
  if (Status status = stringArgument(call, "string_concat", calls::StringConcat::b, b); !status.ok())
    return status;
  TextPairs pairs;
  std::vector<int64_t> table(TextPairs::tableSize(a, b));
  if (Status status = TextPairs::make(a, b, table.data(), pairs); !status.ok()) return status;
  Tensor* result = nullptr;
  if (Status status = call.result(0, DataType::string, pairs.shape, result); !status.ok()) return status;
  bool enough = true;
  std::string joined;
  pairs.visit(result->elementCount, [&](int64_t to, int64_t i, int64_t j) {
    joined.assign(stringAt(a, i)).append(stringAt(b, j));
    enough = enough && setString(result, to, joined);
  });
  return enough ? okStatus() : outOfStrings();
}

static int64_t pairElements(const TensorView* a, const TensorView* b) {
  return tableElements<int64_t>(static_cast<int64_t>(TextPairs::tableSize(a, b)));
}

Status stringEqualScratch(const FlatCall& call, int64_t& elements) {
  const TensorView *a = call.argument(calls::StringEqual::a), *b = call.argument(calls::StringEqual::b);
  if (a && b) elements = scratchElements(pairElements(a, b), 0, 0);  // else for the call to say
  return okStatus();
}

Status stringEqual(FlatCall& call) {
  const TensorView *a = nullptr, *b = nullptr;
  if (Status status = stringArgument(call, "string_equal", calls::StringEqual::a, a); !status.ok())
    return status;
  if (Status status = stringArgument(call, "string_equal", calls::StringEqual::b, b); !status.ok())
    return status;
  TextPairs pairs;
  Scratch scratch(call, pairElements(a, b), 0, 0);
  if (!scratch) return scratch.status();
  auto* table = reinterpret_cast<int64_t*>(scratch.shared());
  if (Status status = TextPairs::make(a, b, table, pairs); !status.ok()) return status;
  if (Status status = call.checkResult(0, DataType::boolean, pairs.shape); !status.ok()) return status;
  auto* out = call.result(0)->as<uint8_t>();
  pairs.visit(call.result(0)->elements,
              [&](int64_t to, int64_t i, int64_t j) { out[to] = stringAt(a, i) == stringAt(b, j); });
  return okStatus();
}

Status stringSplit(BuiltinCall& call) {
  const Tensor* x = nullptr;
  if (Status status = stringArgument(call, "string_split", calls::StringSplit::x, x); !status.ok())
    return status;
  const auto n = call.numbersOf<calls::StringSplit>();
  PackedNumbers packed(n.delimiter);
  const std::string_view delimiter = packed.text();
  if (!packed.ok()) return badNumbers("string_split");
  std::vector<std::vector<std::string_view>> all;
  size_t most = 0;
  for (int64_t i = 0; i < x->elementCount; ++i) {
    all.push_back(split(stringAt(x, i), delimiter, n.mostCuts));
    most = std::max(most, all.back().size());
  }
  std::vector<int64_t> shape(x->shape(), x->shape() + x->rank);
  Tensor *pieces = nullptr, *counts = nullptr;
  if (Status status = call.result(1, DataType::i64, shape, counts); !status.ok()) return status;
  shape.push_back(static_cast<int64_t>(most));
  if (Status status = call.result(0, DataType::string, shape, pieces); !status.ok()) return status;
  for (size_t i = 0; i < all.size(); ++i) {
    counts->as<int64_t>()[i] = static_cast<int64_t>(all[i].size());
    for (size_t k = 0; k < all[i].size(); ++k)
      if (!setString(pieces, static_cast<int64_t>(i * most + k), all[i][k])) return outOfStrings();
  }
  return okStatus();
}

Status stringNormalize(BuiltinCall& call) {
  const Tensor* x = nullptr;
  using Call = calls::StringNormalize;
  if (Status status = stringArgument(call, "string_normalize", Call::x, x); !status.ok()) return status;
  if (x->rank != 1 && !(x->rank == 2 && x->shape()[0] == 1))
    return badArgument("string_normalize", Call::x, "string[m] or string[1, m]", call.arguments[Call::x]);
  const auto n = call.numbersOf<Call>();
  const int32_t change = n.change;
  const bool byCase = n.byCase != 0;
  const auto comparable = [&](std::string_view text) {
    return byCase ? std::string(text) : withCase(text, false);
  };
  PackedNumbers packed(n.stopWords);
  std::unordered_set<std::string> stops;
  for (int32_t i = 0; i < n.stopWordCount && packed.ok(); ++i) stops.insert(comparable(packed.text()));
  if (!packed.ok()) return badNumbers("string_normalize");
  std::vector<std::string> kept;
  for (int64_t i = 0; i < x->elementCount; ++i) {
    const std::string_view text = stringAt(x, i);
    if (stops.count(comparable(text)) != 0) continue;
    kept.push_back(change == DYN_CASE_NONE ? std::string(text) : withCase(text, change == DYN_CASE_UPPER));
  }
  if (kept.empty()) kept.emplace_back();
  std::vector<int64_t> shape(x->shape(), x->shape() + x->rank);
  shape.back() = static_cast<int64_t>(kept.size());
  Tensor* result = nullptr;
  if (Status status = call.result(0, DataType::string, shape, result); !status.ok()) return status;
  for (size_t i = 0; i < kept.size(); ++i)
    if (!setString(result, static_cast<int64_t>(i), kept[i])) return outOfStrings();
  return okStatus();
}

Status regexFullMatch(FlatCall& call) {
  const TensorView* x = nullptr;
  if (Status status = stringArgument(call, "regex_full_match", calls::RegexFullMatch::x, x); !status.ok())
    return status;
  PackedNumbers packed(call.numbersOf<calls::RegexFullMatch>().expression);
  const std::string_view pattern = packed.text();
  if (!packed.ok()) return badNumbers("regex_full_match");
  RegularExpression expression;
  if (Status status = RegularExpression::parse(pattern, expression); !status.ok()) return status;
  if (Status status = call.checkResult(0, DataType::boolean, x->sizes()); !status.ok()) return status;
  auto* out = call.result(0)->as<uint8_t>();
  for (int64_t i = 0; i < x->elements; ++i) out[i] = expression.matches(stringAt(x, i));
  return okStatus();
}

}  // namespace dyn::vm::kernels
