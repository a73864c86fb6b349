// cast from and to the reals of 8 and 4 bits, which generated code does not know; bitcast.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/shared/dyn_narrow_real.h"

namespace dyn::vm::kernels {
namespace {

bool isNarrow(DataType dtype) { return row(dtype).dataClass == DataClass::real && sizeBytes(dtype) == 1; }
bool isPackedInteger(DataType dtype) {
  return dtype == DataType::i4 || dtype == DataType::u4 || dtype == DataType::i2 || dtype == DataType::u2;
}
bool isHalf(DataType dtype) { return dtype == DataType::f16 || dtype == DataType::bf16; }

// Truncates; ends at the type's limits, NaN is 0.
template <typename T>
T truncated(double value) {
  if (std::isnan(value)) return 0;
  // The largest value of a 64-bit type is no double: 2^63 or 2^64 is the first that does not fit.
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::lowest()),
                   kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= kLow) return std::numeric_limits<T>::lowest();
  if (value >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// Calls use(element as a double) for each element in turn; false for types without numbers.
template <typename Use>
bool readReals(const TensorView* x, Use&& use) {
  if (isNarrow(x->dtype())) {
    for (int64_t i = 0; i < x->elements; ++i) use(i, narrow::decodeReal(x->dtype(), x->as<uint8_t>()[i]));
    return true;
  }
  if (isHalf(x->dtype())) {
    for (int64_t i = 0; i < x->elements; ++i) use(i, narrow::decodeReal(x->dtype(), x->as<uint16_t>()[i]));
    return true;
  }
  return visitNumbers(x->dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < x->elements; ++i) use(i, static_cast<double>(x->as<T>()[i]));
  });
}

bool convert(const TensorView* x, TensorView* y, bool saturate) {
  if (isNarrow(y->dtype()))
    return readReals(x, [&](int64_t i, double value) {
      y->as<uint8_t>()[i] = static_cast<uint8_t>(narrow::encodeReal(y->dtype(), value, saturate));
    });
  if (isHalf(y->dtype()))
    return readReals(x, [&](int64_t i, double value) {
      y->as<uint16_t>()[i] = static_cast<uint16_t>(narrow::encodeReal(y->dtype(), value, saturate));
    });
  if (y->dtype() == DataType::boolean)
    return readReals(x, [&](int64_t i, double value) { y->as<uint8_t>()[i] = value != 0; });
  if (isPackedInteger(y->dtype())) return false;  // by way of a wider integer, which wraps
  bool known = false;
  const bool isTarget = visitNumbers(y->dtype(), [&]<typename T>() {
    known = readReals(x, [&](int64_t i, double value) {
      if constexpr (std::is_floating_point_v<T>) {
        y->as<T>()[i] = static_cast<T>(value);
      } else {
        y->as<T>()[i] = truncated<T>(value);
      }
    });
  });
  return isTarget && known;
}

}  // namespace

Status cast(FlatCall& call) {
  const TensorView* x = call.argument(calls::Cast::x);
  if (!x) return badArgument("cast", calls::Cast::x, "a tensor", x);
  TensorView* y = call.result(0);
  const DataType to = y->dtype();
  if (Status status = call.checkResult(0, to, x->sizes()); !status.ok()) return status;
  if (convert(x, y, call.numbersOf<calls::Cast>().saturate != 0)) return okStatus();
  return failure(DYN_UNSUPPORTED,
                 "cast of " + std::string(text(x->dtype())) + " to " + std::string(text(to)));
}

Status bitcast(FlatCall& call) {
  const TensorView* x = call.argument(calls::Bitcast::x);
  if (!x || x->dtype() == DataType::string)
    return badArgument("bitcast", calls::Bitcast::x, "a tensor without strings", x);
  TensorView* y = call.result(0);
  const DataType to = y->dtype();
  if (Status status = call.checkResult(0, to, x->sizes()); !status.ok()) return status;
  if (to == DataType::string || sizeBytes(to) != sizeBytes(x->dtype()))
    return failure(DYN_BAD_INPUT,
                   std::string(text(x->dtype())) + " and " + std::string(text(to)) + " differ in size");
  if (x->sizeBytes() != 0) memcpy(y->bytes(), x->bytes(), x->sizeBytes());
  return okStatus();
}

}  // namespace dyn::vm::kernels
