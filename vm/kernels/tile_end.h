// What follows the sums of a tile while it is in the first cache: closed epilogues
// (vm/shared/dyn_epilogue_form.h).
#pragma once

#include <cstdint>
#include <limits>

namespace dyn::vm::kernels {

// min(max(c + bias[column], low), high). bias may be null; no bound is NaN.
struct TileEnd {
  const float* bias = nullptr;
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();

  // That of the columns from `first` on.
  TileEnd from(int64_t first) const { return {bias ? bias + first : nullptr, low, high}; }
};

// c[row * leadingC + column], row < rows, column < columns, becomes what `end` says; bias[0] is that of the
// first column.
using FinishKernel = void (*)(int64_t rows, int64_t columns, float* c, int64_t leadingC, TileEnd end);

// For the CPU it runs on.
FinishKernel finishKernel();

}  // namespace dyn::vm::kernels
