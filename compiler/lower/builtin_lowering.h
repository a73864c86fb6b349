// Calls of the hand-written kernels.
#pragma once

#include "compiler/lower/function_lowering.h"

namespace dyn {

struct KernelCall;

// Calls the builtin of an operation with values of the function, which stand for its operands. `into`: the
// destinations hold tensors, which the builtin fills; else it makes them. `epilogue`: works on the results in
// place; its buffers come behind the operands, the last is the result.
Status lowerBuiltin(FunctionLowering& c, const Op& op, std::span<const ValueId> operands,
                    std::span<const int32_t> destinations, bool into, const KernelCall* epilogue = nullptr);
// Packs constant weights. Done once, when the module is loaded.
Status lowerPacking(FunctionLowering& c, const Op& op);

}  // namespace dyn
