// How operations run as kernels: the attribute `kind` of `fused` and `into`, and the one place that decides
// between a builtin and loops.
#pragma once

#include <optional>
#include <span>

#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace dyn {

enum class KernelKind : uint8_t {
  loop,         // one loop nest that is generated
  contraction,  // a builtin's product or convolution, with the elementwise operations behind it as epilogue
  attention,    // a product, what is made of its rows, and a second product
  builtin,      // one hand-written operator
};
const char* toString(KernelKind kind);

// Of a `fused` or `into` operation.
KernelKind kernelKindOf(const Op& op);
void setKernelKind(Op& op, KernelKind kind);

// How `op` alone runs on `target` on operands of these types (an invalid type: left out): loop or builtin.
// nullopt: no kernel, as the host program does it, its builtin makes its results itself, or its contents are
// known. Error unsupportedOp: its builtin needs what the target does not have.
Result<std::optional<KernelKind>> chooseLowering(const Op& op, std::span<const Type> operandTypes,
                                                 const Target& target);

}  // namespace dyn
