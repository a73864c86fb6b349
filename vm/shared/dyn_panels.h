// How packed weights lie for a machine: what packing needs to know of it, and nothing else. The compiler
// states it of a target, the runtime of the machine it runs on; by one function, so that weights packed for
// the one are what the other reads. A program whose weights are packed carries it as text, and is refused
// where another one is read.
//
//   panelLayoutOf({.avx2 = true, .avx512 = true});     // "gemm 32, filters 32+16, bf16 16, bytes 16x2"
#ifndef DYN_PANELS_H
#define DYN_PANELS_H

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace dyn {

// Of a program's metadata: the layout its constants are packed in.
inline constexpr const char* kPanelsKey = "panels";
// Of a program's metadata: the layout that its packing functions make, where it is not this machine's.
inline constexpr const char* kPacksKey = "packs";

// The instruction sets that kernels of packed weights are made for.
struct PanelInstructions {
  bool avx2 = false;  // with FMA
  bool avx512 = false;
  bool avx512Bf16 = false;
  bool avx512Vnni = false;
  bool neon = false;  // 64-bit ARM, with products of four bytes or without
};

struct PanelLayout {
  int32_t gemm = 8;                            // columns of a panel of f32
  int32_t wideFilters = 8, narrowFilters = 4;  // filters side by side in convolutions of f32
  int32_t bf16 = 8;                            // columns of a panel rounded to bf16
  int32_t bytes = 16, bytesInWord = 2;         // columns of a panel of bytes, depths side by side in it
  bool operator==(const PanelLayout&) const = default;
};

inline PanelLayout panelLayoutOf(const PanelInstructions& has) {
  PanelLayout layout;
  if (has.avx2) layout = {.gemm = 16, .wideFilters = 16, .narrowFilters = 8, .bf16 = 16};
  if (has.avx512) {
    layout.gemm = layout.wideFilters = 32;
    layout.narrowFilters = 16;
  }
  if (has.avx512 && has.avx512Bf16) layout.bf16 = 32;
  if (has.avx512 && has.avx512Vnni) {
    layout.bytes = 32;
    layout.bytesInWord = 4;
  }
  if (has.neon) layout.bytesInWord = 4;
  return layout;
}

inline std::string toString(const PanelLayout& layout) {
  return "gemm " + std::to_string(layout.gemm) + ", filters " + std::to_string(layout.wideFilters) + "+" +
         std::to_string(layout.narrowFilters) + ", bf16 " + std::to_string(layout.bf16) + ", bytes " +
         std::to_string(layout.bytes) + "x" + std::to_string(layout.bytesInWord);
}

// What toString writes; nullopt: it is not one, or one that no kernels read.
inline std::optional<PanelLayout> parsePanelLayout(const std::string& text) {
  PanelLayout p;
  int end = 0;
  const int count = std::sscanf(text.c_str(), "gemm %d, filters %d+%d, bf16 %d, bytes %dx%d%n", &p.gemm,
                                &p.wideFilters, &p.narrowFilters, &p.bf16, &p.bytes, &p.bytesInWord, &end);
  const bool complete = count == 6 && static_cast<size_t>(end) == text.size() && toString(p) == text;
  const auto isWidth = [](int32_t columns) { return columns >= 4 && columns <= 64 && columns % 4 == 0; };
  const bool known = isWidth(p.gemm) && isWidth(p.bf16) && isWidth(p.narrowFilters) &&
                     isWidth(p.wideFilters) && p.narrowFilters <= p.wideFilters && isWidth(p.bytes) &&
                     p.bytes % 16 == 0 && (p.bytesInWord == 2 || p.bytesInWord == 4);
  return complete && known ? std::optional(p) : std::nullopt;
}

}  // namespace dyn
#endif
