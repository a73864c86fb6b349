// Four floats at once, anywhere in memory: what every CPU has, for the loops around the micro-kernels.
#pragma once

#include <cstdint>
#include <cstring>

namespace dyn::vm::kernels {

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
inline Four& four(float* at) { return *reinterpret_cast<Four*>(at); }
inline const Four& four(const float* at) { return *reinterpret_cast<const Four*>(at); }

// Rows become columns.
inline void transpose(Four (&rows)[4]) {
  const Four low = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5),
             high = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7),
             nextLow = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5),
             nextHigh = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(low, nextLow, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(low, nextLow, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(high, nextHigh, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(high, nextHigh, 2, 3, 6, 7);
}

// to[i] = from[i]. For rows so short that a call of memcpy costs more.
inline void copyShort(const float* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    four(to + i) = four(from + i);
    four(to + i + 4) = four(from + i + 4);
  }
  if (i == count) return;
  if (count < 4) {
    for (; i < count; ++i) to[i] = from[i];
    return;
  }
  // The last four may overlap those before.
  if (i + 4 < count) four(to + i) = four(from + i);
  four(to + count - 4) = four(from + count - 4);
}
// Writes whole fours: up to three floats beyond the last.
inline void zeroShort(int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += 4) four(to + i) = Four{};
}

// From memory that was not made for floats: bytes of a file at any address.
inline Four fourAnywhere(const float* at) {
  Four value;
  memcpy(&value, at, sizeof value);
  return value;
}
inline float floatAnywhere(const float* at) {
  float value;
  memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace dyn::vm::kernels
