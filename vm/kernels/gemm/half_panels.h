// Products whose constant right side stays in f16 or bf16 in memory: panels as those of f32 (gemm.h), but of
// halves.
// The first tile of rows widens a panel as it goes along, for the tiles behind it. Results are those of
// panels in f32.
#pragma once

#include <span>

#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/gemm/half_kernel.h"

namespace dyn::vm::kernels {

// Depths of a panel that are widened at a time: they stay in the L2 cache until all rows have read them.
inline constexpr int64_t kWidenedDepth = 1024;

// Those this CPU can run, the widest first.
std::span<const HalfFamily* const> halfFamilies();
// The one for panels as wide as those of `family`; null: absent.
const HalfFamily* halfFamilyFor(const DynGemmFamily& family);

// As packPanels(), of halves.
void packHalfPanels(const DynGemmFamily& family, const uint16_t* b, int64_t depth, int64_t columns,
                    int64_t strideK, int64_t strideN, int64_t firstPanel, int64_t lastPanel,
                    uint16_t* packed);

}  // namespace dyn::vm::kernels
