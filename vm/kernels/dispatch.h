// Calls a template lambda with the C++ type of a dtype: visitNumbers(dtype, [&]<typename T>() { ... }).
#pragma once

#include <cstdint>

#include "vm/base/dtype.h"
#include "vm/shared/dyn_narrow_real.h"

namespace dyn::vm::kernels {

// bool counts as uint8_t. False for dtypes that C++ has no arithmetic for (f16, bf16, 8-bit floats, complex, string).
template <typename Visitor>
bool visitNumbers(DataType dtype, Visitor&& visit) {
  switch (dtype) {
    case DataType::boolean:
    case DataType::u4:
    case DataType::u2:
    case DataType::u8:
      visit.template operator()<uint8_t>();
      return true;
    case DataType::i4:
    case DataType::i2:
    case DataType::i8:
      visit.template operator()<int8_t>();
      return true;
    case DataType::i16:
      visit.template operator()<int16_t>();
      return true;
    case DataType::u16:
      visit.template operator()<uint16_t>();
      return true;
    case DataType::i32:
      visit.template operator()<int32_t>();
      return true;
    case DataType::u32:
      visit.template operator()<uint32_t>();
      return true;
    case DataType::i64:
      visit.template operator()<int64_t>();
      return true;
    case DataType::u64:
      visit.template operator()<uint64_t>();
      return true;
    case DataType::f32:
      visit.template operator()<float>();
      return true;
    case DataType::f64:
      visit.template operator()<double>();
      return true;
    default:
      return false;
  }
}

// An element of f16 or bf16: read as a float, rounded when stored.
template <DataType dtype>
struct HalfElement {
  uint16_t bits = 0;
  HalfElement() = default;
  explicit HalfElement(float value) : bits(static_cast<uint16_t>(narrow::encodeReal(dtype, value, false))) {}
  operator float() const { return static_cast<float>(narrow::decodeReal(dtype, bits)); }
};

// visitNumbers, and f16 and bf16 as a HalfElement.
template <typename Visitor>
bool visitNumbersAndHalves(DataType dtype, Visitor&& visit) {
  if (dtype == DataType::f16)
    visit.template operator()<HalfElement<DataType::f16>>();
  else if (dtype == DataType::bf16)
    visit.template operator()<HalfElement<DataType::bf16>>();
  else
    return visitNumbers(dtype, visit);
  return true;
}

// The same for the dtypes that only have to be moved: an unsigned integer of the element's size. False for c128 and strings.
template <typename Visitor>
bool visitSizes(DataType dtype, Visitor&& visit) {
  if (dtype == DataType::string) return false;
  switch (sizeBytes(dtype)) {
    case 1:
      visit.template operator()<uint8_t>();
      return true;
    case 2:
      visit.template operator()<uint16_t>();
      return true;
    case 4:
      visit.template operator()<uint32_t>();
      return true;
    case 8:
      visit.template operator()<uint64_t>();
      return true;
    default:
      return false;
  }
}

float halfToFloat(uint16_t bits);
inline float bfloatToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, sizeof value);
  return value;
}

// Shape seen as [outer, axis, inner]. Where another axis is 0 the rest may be of any size (nothing is there to hold), so that their
// product may not fit: such a shape is seen as [0, axis, 1].
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
};
inline AxisView axisView(const int64_t* shape, uint32_t rank, int64_t axis) {
  for (uint32_t i = 0; i < rank; ++i)
    if (shape[i] == 0) return {0, shape[axis], 1};
  AxisView view;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i)
    (i < axis ? view.outer : i == axis ? view.size : view.inner) *= shape[i];
  return view;
}
// Negative counts from the end; false when out of range.
inline bool normalizeAxis(int64_t& axis, uint32_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < static_cast<int64_t>(rank);
}

}  // namespace dyn::vm::kernels
