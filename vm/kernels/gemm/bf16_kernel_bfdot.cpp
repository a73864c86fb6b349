// 8x8 tiles, two products a lane and instruction. Compiled for Armv8.2 with bf16; nothing else may be in this
// file (vm/CMakeLists.txt).
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>

#include "vm/kernels/gemm/bf16_kernel.h"

namespace {

typedef float Sums __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(16), aligned(4), may_alias));

inline Sums multiplyAdd(Sums sums, uint32_t left, Words right) {
  const bfloat16x4_t pair = vcreate_bf16(left);  // its first two
  return reinterpret_cast<Sums>(vbfdotq_lane_f32(reinterpret_cast<float32x4_t>(sums),
                                                 vreinterpretq_bf16_u32(reinterpret_cast<uint32x4_t>(right)),
                                                 pair, 0));
}

void roundWords(const float* from, int64_t depth, uint32_t* to) {
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4)
    vst1_u32(to + k / 2, vreinterpret_u32_bf16(vcvt_bf16_f32(vld1q_f32(from + k))));
  if (k == depth) return;
  float rest[4] = {};
  for (int64_t i = 0; k + i < depth; ++i) rest[i] = from[k + i];
  uint32_t words[2];
  vst1_u32(words, vreinterpret_u32_bf16(vcvt_bf16_f32(vld1q_f32(rest))));
  to[k / 2] = words[0];
  if (depth - k == 3) to[k / 2 + 1] = words[1];
}

}  // namespace

#define DYN_LANES 4
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 8
#define DYN_FAMILY bf16FamilyBfdot
#define DYN_NAME "bfdot"
#include "vm/kernels/gemm/bf16_kernel.inc"
#endif
