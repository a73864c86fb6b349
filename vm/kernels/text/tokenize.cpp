// tokenize: strings cut into tokens, by what stands between them or by what they are.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/packed_numbers.h"
#include "vm/kernels/text/regular_expression.h"
#include "vm/kernels/text/string_elements.h"

namespace dyn::vm::kernels {
namespace {

using Tokens = std::vector<std::string_view>;

// Bytes of the letter of UTF-8 at `place`; a byte that begins none stands for itself.
size_t letterBytes(std::string_view text, size_t place) {
  const auto first = static_cast<uint8_t>(text[place]);
  const size_t bytes = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(bytes, text.size() - place);
}

int64_t letterCount(std::string_view text) {
  int64_t count = 0;
  for (size_t place = 0; place < text.size(); place += letterBytes(text, place)) ++count;
  return count;
}

struct Tokenizer {
  bool byTokens = false;
  int64_t leastLetters = 1;
  std::vector<RegularExpression> expressions;

  Tokens of(std::string_view text) const {
    if (expressions.empty()) return letters(text);
    if (byTokens) return matches(text);
    Tokens row = {text};
    for (const RegularExpression& separator : expressions) {
      Tokens pieces;
      for (std::string_view piece : row) cut(piece, separator, pieces);
      row = std::move(pieces);
    }
    return row;
  }

 private:
  static Tokens letters(std::string_view text) {
    Tokens found;
    for (size_t place = 0; place < text.size();) {
      found.push_back(text.substr(place, letterBytes(text, place)));
      place += found.back().size();
    }
    return found;
  }

  bool isLong(std::string_view token) const { return letterCount(token) >= leastLetters; }

  // What stands between the separators. One that is empty takes the letter behind it.
  void cut(std::string_view text, const RegularExpression& separator, Tokens& pieces) const {
    size_t start = 0, begin = 0, end = 0;
    while (start <= text.size() && separator.find(text, start, begin, end)) {
      if (const std::string_view piece = text.substr(start, begin - start); isLong(piece))
        pieces.push_back(piece);
      if (end == begin && begin == text.size()) return;
      start = end > begin ? end : begin + letterBytes(text, begin);
    }
    if (const std::string_view rest = text.substr(start); isLong(rest)) pieces.push_back(rest);
  }

  Tokens matches(std::string_view text) const {
    Tokens found;
    size_t start = 0, begin = 0, end = 0;
    while (start <= text.size() && expressions[0].find(text, start, begin, end)) {
      const std::string_view token = text.substr(begin, end - begin);
      if (isLong(token) && !token.empty()) {
        found.push_back(token);
        start = end;
      } else if (begin == text.size()) {
        break;
      } else {
        start = begin + letterBytes(text, begin);
      }
    }
    return found;
  }
};

}  // namespace

Status tokenize(BuiltinCall& call) {
  using Call = calls::Tokenize;
  const Tensor* x = nullptr;
  if (Status status = stringArgument(call, "tokenize", Call::x, x); !status.ok()) return status;
  if (x->rank != 1 && x->rank != 2)
    return badArgument("tokenize", Call::x, "string[m] or string[b, m]", call.arguments[Call::x]);
  const auto n = call.numbersOf<Call>();
  PackedNumbers packedPadding(n.padding), packed(n.expressions);
  const std::string_view padding = packedPadding.text();
  Tokenizer tokenizer;
  tokenizer.byTokens = n.byTokens != 0;
  tokenizer.leastLetters = n.leastLetters;
  for (int32_t i = 0; i < n.expressionCount && packed.ok(); ++i) {
    const std::string_view pattern = packed.text();
    if (Status status = RegularExpression::parse(pattern, tokenizer.expressions.emplace_back()); !status.ok())
      return status;
  }
  if (!packed.ok() || !packedPadding.ok())
    return failure(DYN_BAD_INPUT, "tokenize: its packed numbers are malformed");
  std::vector<int64_t> shape(x->shape(), x->shape() + x->rank);
  std::vector<Tokens> rows;
  size_t most = 0;
  for (int64_t i = 0; i < x->elementCount; ++i) {
    rows.push_back(tokenizer.of(stringAt(x, i)));
    most = std::max(most, rows.back().size());
  }
  const bool marked = n.marked != 0 && most > 0;
  const size_t width = most + (marked ? 2 : 0);
  shape.push_back(static_cast<int64_t>(width));
  Tensor* result = nullptr;
  if (Status status = call.result(0, DataType::string, shape, result); !status.ok()) return status;
  for (size_t i = 0; i < rows.size() && width > 0; ++i) {
    if (marked) {
      rows[i].insert(rows[i].begin(), "\x02");
      rows[i].push_back("\x03");
    }
    rows[i].resize(width, padding);
    for (size_t k = 0; k < width; ++k)
      if (!setString(result, static_cast<int64_t>(i * width + k), rows[i][k])) return outOfStrings();
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
