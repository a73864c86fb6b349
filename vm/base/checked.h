// Checked 64-bit arithmetic: every function returns false instead of overflowing or dividing by zero.
#pragma once

#include <cstdint>

namespace dyn::vm {

inline bool checkedAdd(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_add_overflow(a, b, &result);
}
inline bool checkedSub(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_sub_overflow(a, b, &result);
}
inline bool checkedMul(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_mul_overflow(a, b, &result);
}

// floor(a / b)
inline bool checkedFloorDiv(int64_t a, int64_t b, int64_t& result) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  int64_t quotient = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --quotient;
  result = quotient;
  return true;
}

// ceil(a / b)
inline bool checkedCeilDiv(int64_t a, int64_t b, int64_t& result) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  int64_t quotient = a / b;
  if (a % b != 0 && (a < 0) == (b < 0)) ++quotient;
  result = quotient;
  return true;
}

// a - b * floor(a / b): the sign of b
inline bool checkedMod(int64_t a, int64_t b, int64_t& result) {
  if (b == 0) return false;
  if (b == -1) {
    result = 0;
    return true;
  }
  int64_t rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  result = rest;
  return true;
}

// Number of elements of a shape; false on overflow or a negative dim. A zero anywhere gives zero, whatever
// the rest.
inline bool checkedElementCount(const int64_t* shape, uint32_t rank, int64_t& count) {
  int64_t product = 1;
  bool empty = false, overflow = false;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (shape[axis] < 0) return false;
    if (shape[axis] == 0)
      empty = true;
    else if (!overflow)
      overflow = __builtin_mul_overflow(product, shape[axis], &product);
  }
  if (!empty && overflow) return false;
  count = empty ? 0 : product;
  return true;
}

}  // namespace dyn::vm
