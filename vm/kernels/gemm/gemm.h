// f32 matrix product on packed panels: the driver around a DynGemmFamily.
#pragma once

#include "vm/base/flat_call.h"
#include "vm/kernels/epilogue.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {

inline int64_t panelCount(const DynGemmFamily& family, int64_t columns) {
  return (columns + family.panelWidth - 1) / family.panelWidth;
}
inline int64_t packedElementCount(const DynGemmFamily& family, int64_t depth, int64_t columns) {
  return panelCount(family, columns) * depth * family.panelWidth;
}

// Packs panels [firstPanel, lastPanel) of B: element (k, n) lies at b[k * strideK + n * strideN]. Columns
// beyond N are zero. b may lie at any address.
void packPanels(const DynGemmFamily& family, const float* b, int64_t depth, int64_t columns, int64_t strideK,
                int64_t strideN, int64_t firstPanel, int64_t lastPanel, float* packed);

// Micro-kernels for `rows` rows and one panel.
inline void runRowTiles(const DynGemmFamily& family, int64_t rows, int64_t depth, const float* a,
                        int64_t leadingA, const float* panel, float* c, int64_t leadingC, int64_t columns,
                        bool accumulate) {
  forEachRowTile(family.maxRows, rows, [&](int64_t first, int64_t height) {
    family.microKernels[height - 1](depth, a + first * leadingA, leadingA, panel, c + first * leadingC,
                                    leadingC, columns, accumulate ? 1 : 0);
  });
}

}  // namespace dyn::vm::kernels
