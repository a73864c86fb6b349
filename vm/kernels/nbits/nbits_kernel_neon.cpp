// Weights of few bits in vectors of four floats.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "vm/kernels/nbits/nbits_kernel.h"

namespace {

// Four bytes. Written out: GCC converts a vector of four bytes number by number.
inline int32x4_t widenBytes(const uint8_t* from) {
  uint32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word))))));
}

}  // namespace

#define DYN_LANES 4
#define DYN_KERNELS nbitsNeon
#define DYN_NAME "neon"
#define DYN_EXPAND_PANEL nullptr
#define DYN_WIDEN_BYTES(from) widenBytes(from)
#include "vm/kernels/nbits/nbits_arithmetic.inc"
#include "vm/kernels/nbits/nbits_kernel.inc"
#endif
