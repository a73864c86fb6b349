// Products whose rows are rounded to 8 bits, block by block of the weights: what MatMulNBits allows at
// accuracy level 4. The largest of a block becomes 127; numbers are rounded to nearest even. A block with an
// infinity or NaN is NaN.
#pragma once

#include "vm/base/flat_call.h"
#include "vm/kernels/nbits/nbits_kernel.h"

namespace dyn::vm::kernels {

// Whether the kernels have a product in integers for these weights; else the rounded rows are multiplied as
// f32.
bool multipliesRounded(const NbitsKernels& kernels, const NbitsMatrix& m);

int64_t roundedScratch(const NbitsKernels& kernels, const FlatCall& call, const NbitsMatrix& m, int64_t rows);
Status multiplyRounded(const NbitsKernels& kernels, FlatCall& call, const NbitsMatrix& m, int64_t rows,
                       const float* a, float* c);

// `to` = the row as its rounded numbers stand for it, m.depth elements.
void asRounded(const NbitsMatrix& m, const float* row, float* to);

}  // namespace dyn::vm::kernels
