// The product of f32 with weights of 4 or 8 bits, which stay as they are in the file.
#pragma once

#include <span>

#include "vm/base/flat_call.h"
#include "vm/kernels/nbits/nbits_kernel.h"

namespace dyn::vm::kernels {

// Those this CPU can run, the best first.
std::span<const NbitsKernels* const> nbitsKernels();
Status nbitsGemmScratchBy(const NbitsKernels& kernels, const FlatCall& call, int64_t& elements);
Status nbitsGemmBy(const NbitsKernels& kernels, FlatCall& call);

}  // namespace dyn::vm::kernels
