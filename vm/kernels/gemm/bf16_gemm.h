// Products whose constant right side was packed in bf16 at load.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "vm/kernels/gemm/bf16_kernel.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {

// Those this CPU can run, the best first.
std::span<const Bf16Family* const> bf16Families();

// Tiles for products of several rows, and a family of the same panels, `others`, for those of one, which
// tiles multiply no faster, and for rounding.
class Bf16Tiles {
 public:
  Bf16Tiles(const Bf16Family& tiles, const Bf16Family& others);
  Bf16Tiles(const Bf16Tiles&) = delete;
  const Bf16Family& family() const { return family_; }

 private:
  std::vector<Bf16MicroKernel> kernels_;
  Bf16Family family_;
};

inline int64_t bf16Words(int64_t depth) { return (depth + 1) / 2; }
// bf16 elements of the packed matrix.
inline int64_t bf16ElementCount(const Bf16Family& family, int64_t depth, int64_t columns) {
  return (columns + family.panelWidth - 1) / family.panelWidth * family.panelWidth * bf16Words(depth) * 2;
}

// The nearest bf16, ties to even; NaN stays NaN.
inline uint16_t roundToBf16(float value) {
  return static_cast<uint16_t>(roundedBits(std::bit_cast<uint32_t>(value)) >> 16);
}
// As Bf16Family::round, of from[k * stride].
void roundToWords(const Bf16Family& family, const float* from, int64_t depth, int64_t stride, uint32_t* to);
// Packs panels [first, last) of B: element (k, n) lies at b[k * strideK + n * strideN], at any address.
// Columns beyond N are zero.
void packBf16Panels(const Bf16Family& family, const float* b, int64_t depth, int64_t columns, int64_t strideK,
                    int64_t strideN, int64_t first, int64_t last, uint32_t* packed);

}  // namespace dyn::vm::kernels
