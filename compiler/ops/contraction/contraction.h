// Contractions whose builtin runs an epilogue: a kernel over each finished tile of the result, while it is in
// the cache.
#pragma once

#include <span>

#include "compiler/ir/module.h"

namespace dyn {

// Does the builtin of this operation, with operands of these types, take an epilogue?
bool takesEpilogue(const Op& op, std::span<const Type> operandTypes);

// The epilogue of a convolution sees [n, m, positions]: the spatial axes as one. The body of elementwise
// operations with its types changed so, for the kernel only; null when some operand varies along some spatial
// axes and not along others.
const Function* withFlatPositions(IrContext& ir, const Function& body, int rank);

}  // namespace dyn
