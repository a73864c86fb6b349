// Micro-kernels for products of f32 with panels of f16 or bf16. Plain: the files that define them are
// compiled for one instruction set each.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// A DynGemmMicroKernel whose panel is of halves: `wide` (null: nobody wants it) is left with the panel in
// f32, depth * panelWidth elements or, of each row, those that `columns` take, for the next tiles of rows.
using HalfMicroKernel = void (*)(int64_t depth, const float* a, int64_t leadingA, const uint16_t* panel,
                                 float* wide, float* c, int64_t leadingC, int64_t columns,
                                 int32_t accumulate);

struct HalfFamily {
  int32_t maxRows;
  int32_t panelWidth;
  const HalfMicroKernel *ofF16, *ofBf16;  // maxRows entries: one for each number of rows
};

}  // namespace dyn::vm::kernels
