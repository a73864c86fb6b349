// 4x16 tiles: each lane's four products are widening multiply-adds of 16 bits, exact. Armv8.0 has all that it
// needs.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "vm/kernels/byte/byte_kernel.h"
#include "vm/kernels/byte/byte_neon.inc"

namespace {

struct Words {
  int16x8_t low, high;  // of each lane's group the elements 0 and 1, 2 and 3; those of one place side by side
};
struct EveryLane {
  int16x4_t group;  // that of all lanes
};

inline EveryLane everyLane(uint32_t word) { return {vreinterpret_s16_u16(widened(word))}; }
inline Words lanes(const int8_t* from) {
  const int8x16_t places = vreinterpretq_s8_u8(turned(vld1q_u8(reinterpret_cast<const uint8_t*>(from))));
  return {vmovl_s8(vget_low_s8(places)), vmovl_high_s8(places)};
}
inline Sums multiplyAdd(Sums sums, EveryLane a, Words b) {
  int32x4_t sum = signedSums(sums);
  sum = vmlal_lane_s16(sum, vget_low_s16(b.low), a.group, 0);
  sum = vmlal_high_lane_s16(sum, b.low, a.group, 1);
  sum = vmlal_lane_s16(sum, vget_low_s16(b.high), a.group, 2);
  return sumsOf(vmlal_high_lane_s16(sum, b.high, a.group, 3));
}
inline Sums multiplyAdd(Sums sums, Words a, Words b) {
  int32x4_t sum = signedSums(sums);
  sum = vmlal_s16(sum, vget_low_s16(a.low), vget_low_s16(b.low));
  sum = vmlal_high_s16(sum, a.low, b.low);
  sum = vmlal_s16(sum, vget_low_s16(a.high), vget_low_s16(b.high));
  return sumsOf(vmlal_high_s16(sum, a.high, b.high));
}
inline void mixedOfAll(const uint8_t* from, const int64_t* offsets, Words (&words)[4]) {
  const auto at = [&](int i) { return vreinterpretq_u32_u8(vld1q_u8(from + offsets[i])); };
  const auto wide = [](uint8x8_t bytes) { return vreinterpretq_s16_u16(vmovl_u8(bytes)); };
  const auto two = [&](int i, int16x8_t(&pairs)[4]) {
    const uint32x4_t a = at(i), b = at(i + 1);
    const uint8x16_t low = vreinterpretq_u8_u32(vzip1q_u32(a, b)),
                     high = vreinterpretq_u8_u32(vzip2q_u32(a, b));
    pairs[0] = wide(vget_low_u8(low));
    pairs[1] = wide(vget_high_u8(low));
    pairs[2] = wide(vget_low_u8(high));
    pairs[3] = wide(vget_high_u8(high));
  };
  int16x8_t first[4], last[4];
  two(0, first);
  two(2, last);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) words[v] = {first[v], last[v]};
}
inline Words nextPlace(Words weights) {
  return {vextq_s16(vdupq_n_s16(0), weights.low, 4), vextq_s16(weights.low, weights.high, 4)};
}

}  // namespace

#define DYN_MAX_ROWS 4
#define DYN_FAMILY byteGemmNeon
#define DYN_NAME "neon"
#include "vm/kernels/byte/byte_kernel.inc"
#endif
