// 4x16 tiles: each lane's two products are widening multiply-adds of 16 bits, exact. Armv8.0 has all that it
// needs.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "vm/kernels/byte/byte_kernel.h"

namespace {

typedef uint32_t Sums __attribute__((vector_size(16), aligned(4), may_alias));
struct Words {
  int16x4_t low, high;  // the two elements of each lane's group
};
struct EveryLane {
  int16x4_t pair;  // the group of all lanes
};
constexpr int kGroup = 2;

inline uint32_t wordAt(const void* from) {
  uint32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return word;
}

inline EveryLane everyLane(uint32_t word) { return {vreinterpret_s16_u32(vdup_n_u32(word))}; }
inline Words lanes(const int8_t* from) {
  const int16x8_t pairs = vmovl_s8(vld1_s8(from));
  return {vget_low_s16(vuzp1q_s16(pairs, pairs)), vget_low_s16(vuzp2q_s16(pairs, pairs))};
}
inline int32x4_t signedSums(Sums sums) { return reinterpret_cast<int32x4_t>(sums); }
inline Sums multiplyAdd(Sums sums, EveryLane a, Words b) {
  return reinterpret_cast<Sums>(
      vmlal_lane_s16(vmlal_lane_s16(signedSums(sums), b.low, a.pair, 0), b.high, a.pair, 1));
}
inline Sums multiplyAdd(Sums sums, Words a, Words b) {
  return reinterpret_cast<Sums>(vmlal_s16(vmlal_s16(signedSums(sums), a.low, b.low), a.high, b.high));
}
// Four bytes, as 16 bits each.
inline uint16x4_t widened(uint32_t word) {
  return vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word))));
}
inline Words mixed(const uint8_t* from, const int64_t* offsets) {
  return {vreinterpret_s16_u16(widened(wordAt(from + offsets[0]))),
          vreinterpret_s16_u16(widened(wordAt(from + offsets[1])))};
}

// The lowest byte of each number.
inline void storeBytes(int32x4_t whole, uint8_t* to, int64_t columns) {
  const int16x4_t halves = vmovn_s32(whole);
  const uint32_t word = vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(halves, halves))), 0);
  if (columns >= 4) {
    __builtin_memcpy(to, &word, sizeof word);
    return;
  }
  for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<uint8_t>(word >> 8 * j);
}

// The greater of numbers is the one that is not NaN.
inline float32x4_t cut(float32x4_t x, float32x4_t low, float32x4_t high) {
  return vminnmq_f32(vmaxnmq_f32(x, low), high);
}

template <bool kSaturates>
struct Rescaler {
  float32x4_t low, high;
  int32x4_t zero;

  explicit Rescaler(const dyn::vm::kernels::ByteRescale& rescale)
      : low(vdupq_n_f32(rescale.low)), high(vdupq_n_f32(rescale.high)), zero(vdupq_n_s32(rescale.zero)) {}
  float32x4_t inside(Sums sums, const float* scales) const {
    return cut(vmulq_f32(vcvtq_f32_s32(signedSums(sums)), vld1q_f32(scales)), low, high);
  }
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    storeBytes(vaddq_s32(vcvtnq_s32_f32(inside(sums, scales)), zero), to + at, columns);
  }
};

struct Joiner {
  const uint8_t* shortcut;
  Rescaler<false> own;
  float32x4_t factor, other, constant, low, high;
  int32x4_t zero;
  uint32_t flip;

  explicit Joiner(const dyn::vm::kernels::ByteRescale& rescale)
      : shortcut(rescale.shortcut.bytes),
        own(rescale),
        factor(vdupq_n_f32(rescale.shortcut.factor)),
        other(vdupq_n_f32(rescale.shortcut.other)),
        constant(vdupq_n_f32(rescale.shortcut.constant)),
        low(vdupq_n_f32(rescale.shortcut.low)),
        high(vdupq_n_f32(rescale.shortcut.high)),
        zero(vdupq_n_s32(rescale.shortcut.zero)),
        flip(rescale.shortcut.flip * UINT32_C(0x01010101)) {}
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    if (columns <= 0) return;
    uint32_t bytes = 0;
    if (columns >= 4)
      bytes = wordAt(shortcut + at);
    else
      for (int64_t j = 0; j < columns; ++j) bytes |= uint32_t{shortcut[at + j]} << 8 * j;
    const float32x4_t theirs = vcvtq_f32_u32(vmovl_u16(widened(bytes ^ flip))),
                      ours = vrndnq_f32(own.inside(sums, scales)),
                      real =
                          vaddq_f32(vmulq_f32(ours, factor), vaddq_f32(vmulq_f32(theirs, other), constant));
    storeBytes(vaddq_s32(vcvtnq_s32_f32(cut(real, low, high)), zero), to + at, columns);
  }
};

}  // namespace

#define DYN_LANES 4
#define DYN_VECTORS 4
#define DYN_MAX_ROWS 4
#define DYN_FAMILY byteGemmNeon
#define DYN_NAME "neon"
// Written out: GCC converts a vector of four bytes number by number.
#define DYN_BYTES_AT(from) reinterpret_cast<Sums>(vmovl_u16(widened(wordAt(from))))
#include "vm/kernels/byte/byte_kernel.inc"
#endif
