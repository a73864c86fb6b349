// One f16 or bf16 as a float, exactly. Always inline, so that files compiled for one instruction set may
// include it.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

inline __attribute__((always_inline)) float floatOfBf16(uint16_t half) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(half) << 16);
}

// Exponent and digits of an f16 moved to their places are a float 2^112 times too small, denormals included;
// infinities and NaN lack an exponent of all ones.
inline __attribute__((always_inline)) float floatOfF16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
  const uint32_t scaled = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) * 0x1p112f);
  return __builtin_bit_cast(float, scaled | sign | (magnitude >= 0x7c00u << 13 ? 0xffu << 23 : 0));
}

}  // namespace dyn::vm::kernels
