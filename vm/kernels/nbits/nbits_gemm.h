// The product of f32 with weights of 4 or 8 bits, which stay as they are in the file.
#pragma once

#include <span>

#include "vm/core/builtin.h"
#include "vm/kernels/nbits/nbits_kernel.h"

namespace dyn::vm::kernels {

// Those this CPU can run, the best first.
std::span<const NbitsKernels* const> nbitsKernels();
Status nbitsGemmBy(const NbitsKernels& kernels, BuiltinCall& call);

}  // namespace dyn::vm::kernels
