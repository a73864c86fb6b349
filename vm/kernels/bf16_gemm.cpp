#include "vm/kernels/bf16_gemm.h"

#include <bit>
#include <vector>

#include "vm/kernels/four.h"

namespace dyn::vm::kernels {

extern const Bf16Family bf16FamilyPortable, bf16FamilyAvx2, bf16FamilyAvx512;

std::span<const Bf16Family* const> bf16Families() {
  static const std::vector<const Bf16Family*> families = [] {
    std::vector<const Bf16Family*> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16"))
      usable.push_back(&bf16FamilyAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&bf16FamilyAvx2);
#endif
    usable.push_back(&bf16FamilyPortable);
    return usable;
  }();
  return families;
}

uint16_t roundToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void roundToWords(const Bf16Family& family, const float* from, int64_t depth, int64_t stride, uint32_t* to) {
  if (stride == 1) return family.round(from, depth, to);
  std::fill_n(to, bf16Words(depth), 0u);
  for (int64_t k = 0; k < depth; ++k)
    to[k / 2] |= static_cast<uint32_t>(roundToBf16(from[k * stride])) << (k % 2 * 16);
}

void packBf16Panels(const Bf16Family& family, const float* b, int64_t depth, int64_t columns, int64_t strideK,
                    int64_t strideN, int64_t first, int64_t last, uint32_t* packed) {
  const int64_t width = family.panelWidth, words = bf16Words(depth);
  for (int64_t panel = first; panel < last; ++panel) {
    uint32_t* out = packed + panel * words * width;
    const int64_t count = std::min(width, columns - panel * width);
    std::fill_n(out, words * width, 0u);
    for (int64_t i = 0; i < count; ++i) {
      const float* from = b + (panel * width + i) * strideN;
      for (int64_t k = 0; k < depth; ++k)
        out[k / 2 * width + i] |= static_cast<uint32_t>(roundToBf16(floatAnywhere(from + k * strideK)))
                                  << (k % 2 * 16);
    }
  }
}

}  // namespace dyn::vm::kernels
