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
inline Words mixed(const uint8_t* from, const int64_t* offsets) {
  const auto two = [&](int i) {
    const uint64_t both = wordAt(from + offsets[i]) | uint64_t{wordAt(from + offsets[i + 1])} << 32;
    return vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(both)));
  };
  return {two(0), two(2)};
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
