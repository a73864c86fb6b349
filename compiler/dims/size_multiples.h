// Multiples of sizes; all numbers are at least 0, and a result beyond 64 bits is INT64_MAX.
#pragma once

#include <numeric>

#include "compiler/dims/dim.h"

namespace dyn {

// The least multiple of `multiple` (at least 1) that is not below `size`: 9, 8 → 16.
inline int64_t leastMultipleFrom(int64_t size, int64_t multiple) {
  return checkedMul(*checkedCeilDiv(size, multiple), multiple).value_or(INT64_MAX);
}

// The least that two numbers have in common, 0 where one is 0.
inline int64_t commonMultiple(int64_t a, int64_t b) {
  return a == 0 || b == 0 ? 0 : checkedMul(a / std::gcd(a, b), b).value_or(INT64_MAX);
}

}  // namespace dyn
