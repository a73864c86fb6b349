#include "vm/kernels/gemm/half_panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "vm/kernels/halves.h"

extern const dyn::vm::kernels::HalfFamily dynHalvesPortable, dynHalvesAvx2, dynHalvesAvx512, dynHalvesNeon;

namespace dyn::vm::kernels {

std::span<const HalfFamily* const> halfFamilies() {
  static const std::vector<const HalfFamily*> families = [] {
    std::vector<const HalfFamily*> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) usable.push_back(&dynHalvesAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
      usable.push_back(&dynHalvesAvx2);
#elif defined(__aarch64__)
    usable.push_back(&dynHalvesNeon);
#endif
    usable.push_back(&dynHalvesPortable);
    return usable;
  }();
  return families;
}

const HalfFamily* halfFamilyFor(const DynGemmFamily& family) {
  for (const HalfFamily* known : halfFamilies())
    if (known->panelWidth == family.panelWidth) return known;
  return nullptr;
}

void packHalfPanels(const DynGemmFamily& family, const uint16_t* b, int64_t depth, int64_t columns,
                    int64_t strideK, int64_t strideN, int64_t firstPanel, int64_t lastPanel,
                    uint16_t* packed) {
  const int64_t width = family.panelWidth;
  // Some depths of all columns at a time: what is read down the columns and what is written across them both
  // stay in the cache.
  constexpr int64_t kBlock = 32;
  for (int64_t panel = firstPanel; panel < lastPanel; ++panel) {
    uint16_t* out = packed + panel * depth * width;
    const uint16_t* from = b + panel * width * strideN;
    const int64_t count = std::min(width, columns - panel * width);
    for (int64_t begin = 0; begin < depth; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, depth);
      if (strideN == 1) {
        for (int64_t k = begin; k < end; ++k)
          copyAnywhere(out + k * width, from + k * strideK, static_cast<size_t>(count) * sizeof *out);
      } else {
        for (int64_t i = 0; i < count; ++i)
          for (int64_t k = begin; k < end; ++k)
            out[k * width + i] = halfAnywhere(from + i * strideN + k * strideK);
      }
      for (int64_t k = begin; k < end; ++k)
        std::fill(out + k * width + count, out + (k + 1) * width, uint16_t{0});
    }
  }
}

}  // namespace dyn::vm::kernels
