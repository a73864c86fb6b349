// check_values: whether the elements of a tensor are what an operation demands of them.
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/packed_numbers.h"
#include "vm/shared/dyn_narrow_real.h"

namespace dyn::vm::kernels {
namespace {

enum Demand : int32_t {
  kPositive = DYN_ELEMENTS_POSITIVE,
  kNumbers = DYN_ELEMENTS_NUMBERS,
  kChances = DYN_ELEMENTS_CHANCES,
  kInRange = DYN_ELEMENTS_IN_RANGE,
  kDemandCount
};

// `fails(i, value)` is told of the first element that does not satisfy `holds`. False: a type without
// numbers.
template <typename Holds, typename Fails>
bool visitElements(const Tensor* x, Holds&& holds, Fails&& fails) {
  const auto visit = [&](auto read) {
    for (int64_t i = 0; i < x->elementCount; ++i)
      if (const auto value = read(i); !holds(value)) return fails(i, value);
  };
  const bool isReal = row(x->dtype).dataClass == DataClass::real;
  if (isReal && sizeBytes(x->dtype) == 1) {
    visit([&](int64_t i) { return narrow::decodeReal(x->dtype, x->as<uint8_t>()[i]); });
    return true;
  }
  if (isReal && sizeBytes(x->dtype) == 2) {
    visit([&](int64_t i) { return narrow::decodeReal(x->dtype, x->as<uint16_t>()[i]); });
    return true;
  }
  return visitNumbers(x->dtype, [&]<typename T>() { visit([&](int64_t i) { return x->as<T>()[i]; }); });
}

template <typename T>
bool satisfies(T value, int32_t demand) {
  const double real = static_cast<double>(value);
  if (demand == kPositive) return value > 0 && std::isfinite(real);
  if (demand == kNumbers) return !std::isnan(real);
  return real >= 0 && real <= 1;
}

template <typename T>
T boundOf(const Tensor* bound, T) {
  T value;
  memcpy(&value, bound->data, sizeof(T));
  return value;
}

std::string demandText(int32_t demand, const std::string& low, const std::string& high) {
  constexpr std::string_view kTexts[] = {"above 0 and finite", "no NaN", "between 0 and 1"};
  if (demand != kInRange) return std::string(kTexts[demand]);
  return (low.empty() ? "" : "at least " + low) + (low.empty() || high.empty() ? "" : " and ") +
         (high.empty() ? "" : "at most " + high);
}

}  // namespace

Status checkValues(BuiltinCall& call) {
  if (call.rehearsal) return okStatus();
  using Call = calls::CheckValues;
  const Tensor *x = call.argument(Call::values), *low = call.argument(Call::least),
               *high = call.argument(Call::most);
  const auto n = call.numbersOf<Call>();
  const int32_t demand = n.demand;
  PackedNumbers packed(n.what);
  const std::string what(packed.text());
  if (!x || demand < 0 || demand >= kDemandCount || !packed.ok())
    return badArgument("check_values", Call::values, "a tensor of numbers, and a known demand",
                       call.arguments[Call::values]);
  for (const Tensor* bound : {low, high})
    if (bound && (bound->dtype != x->dtype || bound->elementCount != 1 || sizeBytes(x->dtype) < 4))
      return badArgument("check_values", Call::least, "one number of the type of argument 0, of 4 or 8 bytes",
                         call.arguments[Call::values]);
  std::string fault, least, most;
  const bool known = visitElements(
      x,
      [&](auto value) {
        if (demand != kInRange) return satisfies(value, demand);
        return (!low || value >= boundOf(low, value)) && (!high || value <= boundOf(high, value));
      },
      [&](int64_t i, auto value) {
        if (low) least = std::to_string(boundOf(low, value));
        if (high) most = std::to_string(boundOf(high, value));
        fault = "element " + std::to_string(i) + " is " + std::to_string(value);
      });
  if (!known)
    return badArgument("check_values", Call::values, "a tensor of numbers", call.arguments[Call::values]);
  if (fault.empty()) return okStatus();
  return failure(DYN_CHECK_FAILED, what + (what.empty() ? "" : ": ") + fault + ", it must be " +
                                       demandText(demand, least, most));
}

}  // namespace dyn::vm::kernels
