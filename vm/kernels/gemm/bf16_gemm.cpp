#include "vm/kernels/gemm/bf16_gemm.h"

#include "vm/base/arm_features.h"
#include "vm/kernels/four.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn::vm::kernels {

extern const Bf16Family bf16FamilyPortable, bf16FamilyAvx2, bf16FamilyAvx512, bf16FamilyAmx,
    bf16FamilyTileModel, bf16FamilyNeon, bf16FamilyBfdot;

Bf16Tiles::Bf16Tiles(const Bf16Family& tiles, const Bf16Family& others)
    : kernels_(tiles.microKernels, tiles.microKernels + tiles.maxRows), family_(tiles) {
  kernels_[0] = others.microKernels[0];
  family_.microKernels = kernels_.data();
  family_.round = others.round;
}

std::span<const Bf16Family* const> bf16Families() {
  static const std::vector<const Bf16Family*> families = [] {
    std::vector<const Bf16Family*> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16")) {
      if (tileChoice() == TileChoice::model) {
        static const Bf16Tiles model(bf16FamilyTileModel, bf16FamilyAvx512);
        usable.push_back(&model.family());
      } else if (tileSupport().bf16) {
        static const Bf16Tiles amx(bf16FamilyAmx, bf16FamilyAvx512);
        usable.push_back(&amx.family());
      }
      usable.push_back(&bf16FamilyAvx512);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&bf16FamilyAvx2);
#elif defined(__aarch64__)
    if (armFeatures().bf16) usable.push_back(&bf16FamilyBfdot);
    usable.push_back(&bf16FamilyNeon);
#endif
    usable.push_back(&bf16FamilyPortable);
    return usable;
  }();
  return families;
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
    // Some words of all columns at a time: what is read down the columns and what is written across them both
    // stay in the cache.
    constexpr int64_t kBlock = 16;
    for (int64_t begin = 0; begin < words; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, words);
      auto packWord = [&](int64_t word, int64_t i) {
        const float* from = b + (panel * width + i) * strideN + 2 * word * strideK;
        const uint32_t low = roundToBf16(floatAnywhere(from)),
                       high = word < depth / 2 ? roundToBf16(floatAnywhere(from + strideK)) : 0;
        out[word * width + i] = low | high << 16;
      };
      if (strideN == 1) {
        for (int64_t word = begin; word < end; ++word)
          for (int64_t i = 0; i < count; ++i) packWord(word, i);
      } else {
        for (int64_t i = 0; i < count; ++i)
          for (int64_t word = begin; word < end; ++word) packWord(word, i);
      }
      for (int64_t word = begin; word < end; ++word)
        std::fill(out + word * width + count, out + (word + 1) * width, 0u);
    }
  }
}

}  // namespace dyn::vm::kernels
