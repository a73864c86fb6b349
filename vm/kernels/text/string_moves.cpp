// string_pick, string_ranks: how data movement of strings becomes one of numbers, and back; string_cast.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/text/string_elements.h"

namespace dyn::vm::kernels {

Status stringPick(BuiltinCall& call) {
  using Call = calls::StringPick;
  const Tensor* places = call.argument(Call::places);
  if (!places || places->dtype != DataType::i64)
    return badArgument("string_pick", Call::places, "a tensor of i64", call.arguments[Call::places]);
  std::vector<const Tensor*> texts;
  std::vector<int64_t> ends;
  int64_t count = 0;
  for (size_t i = Call::texts; i < call.arguments.size(); ++i) {
    const Tensor* text = nullptr;
    if (Status status = stringArgument(call, "string_pick", i, text); !status.ok()) return status;
    texts.push_back(text);
    ends.push_back(count += text->elementCount);
  }
  Tensor* result = nullptr;
  if (Status status = call.result(0, DataType::string, std::span(places->shape(), places->rank), result);
      !status.ok())
    return status;
  for (int64_t i = 0; i < result->elementCount; ++i) {
    const int64_t place = places->as<int64_t>()[i] - 1;
    if (place < -1 || place >= count)
      return failure(DYN_OUT_OF_RANGE,
                     "place " + std::to_string(place + 1) + " of " + std::to_string(count) + " strings");
    if (place < 0) continue;
    const auto part = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), place) - ends.begin());
    if (!setString(result, i, stringAt(texts[part], place - (ends[part] - texts[part]->elementCount))))
      return outOfStrings();
  }
  return okStatus();
}

Status stringRanks(BuiltinCall& call) {
  const Tensor* x = nullptr;
  if (Status status = stringArgument(call, "string_ranks", calls::StringRanks::x, x); !status.ok())
    return status;
  std::vector<int64_t> order(static_cast<size_t>(x->elementCount));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return stringAt(x, a) < stringAt(x, b); });
  const auto isNew = [&](size_t k) { return k == 0 || stringAt(x, order[k - 1]) != stringAt(x, order[k]); };
  int64_t count = 0;
  for (size_t k = 0; k < order.size(); ++k) count += isNew(k);
  Tensor *ranks = nullptr, *distinct = nullptr;
  if (Status status = call.result(0, DataType::i64, std::span(x->shape(), x->rank), ranks); !status.ok())
    return status;
  if (Status status = call.result(1, DataType::string, std::span(&count, 1), distinct); !status.ok())
    return status;
  int64_t rank = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    if (isNew(k) && !setString(distinct, rank++, stringAt(x, order[k]))) return outOfStrings();
    ranks->as<int64_t>()[order[k]] = rank;
  }
  return okStatus();
}

namespace {

template <typename T>
std::string digitsOf(T value) {
  char digits[64];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

std::string realText(double value, bool isDouble) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  return isDouble ? digitsOf(value) : digitsOf(static_cast<float>(value));
}

template <typename T>
constexpr bool kIsReal = std::is_convertible_v<T, float> && !std::is_integral_v<T>;

template <typename T>
std::string textOf(T value) {
  if constexpr (kIsReal<T>) {
    return realText(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(value), sizeof(T) == 8);
  } else {
    return digitsOf(value);
  }
}

// The number that a text is; false where it is none.
template <typename T>
bool readNumber(std::string_view text, T& value) {
  const std::string copy(text);
  char* end = nullptr;
  if constexpr (sizeof(T) == 8 && kIsReal<T>) {
    value = std::strtod(copy.c_str(), &end);
  } else if constexpr (kIsReal<T>) {
    value = T(std::strtof(copy.c_str(), &end));
  } else if constexpr (std::is_unsigned_v<T>) {
    value = static_cast<T>(std::strtoull(copy.c_str(), &end, 10));
  } else {
    value = static_cast<T>(std::strtoll(copy.c_str(), &end, 10));
  }
  return end == copy.c_str() + copy.size() && !copy.empty();
}

Status refused(const Tensor* x, DataType to) {
  return failure(DYN_UNSUPPORTED, "cast of " + std::string(text(x->dtype)) + " to " + std::string(text(to)));
}

Status numbersToStrings(const Tensor* x, Tensor* result) {
  bool enough = true;
  const bool known = visitNumbersAndHalves(x->dtype, [&]<typename T>() {
    for (int64_t i = 0; i < x->elementCount && enough; ++i) {
      const T value = x->as<T>()[i];
      enough = setString(
          result, i,
          x->dtype == DataType::boolean ? std::string(value != T(0) ? "True" : "False") : textOf(value));
    }
  });
  if (!known) return refused(x, DataType::string);
  return enough ? okStatus() : outOfStrings();
}

Status stringsToNumbers(const Tensor* x, Tensor* result, DataType to) {
  int64_t bad = -1;
  const bool known = visitNumbersAndHalves(to, [&]<typename T>() {
    for (int64_t i = 0; i < x->elementCount && bad < 0; ++i)
      if (!readNumber(stringAt(x, i), result->as<T>()[i])) bad = i;
  });
  if (!known) return refused(x, to);
  if (bad >= 0) return failure(DYN_BAD_INPUT, "\"" + std::string(stringAt(x, bad)) + "\" is not a number");
  return okStatus();
}

}  // namespace

Status stringCast(BuiltinCall& call) {
  using Call = calls::StringCast;
  const Tensor* x = call.argument(Call::x);
  const int32_t number = call.numbersOf<Call>().to;
  if (number < 0 || static_cast<uint32_t>(number) >= kDataTypeCount)
    return failure(DYN_BAD_INPUT, "string_cast: its dtype is out of range");
  const auto to = static_cast<DataType>(number);
  if (!x || (x->dtype == DataType::string) == (to == DataType::string))
    return badArgument("string_cast", Call::x, "strings or a result of strings", call.arguments[Call::x]);
  Tensor* result = nullptr;
  if (Status status = call.result(0, to, std::span(x->shape(), x->rank), result); !status.ok()) return status;
  return to == DataType::string ? numbersToStrings(x, result) : stringsToNumbers(x, result, to);
}

}  // namespace dyn::vm::kernels
