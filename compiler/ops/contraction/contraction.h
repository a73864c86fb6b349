// Contractions whose builtin runs an epilogue: a kernel over each finished tile of the result, while it is in the cache.
#pragma once

#include <span>

#include "compiler/ir/module.h"

namespace dyn {

// Does the builtin of this operation, with operands of these types, take an epilogue?
bool takesEpilogue(const Op& op, std::span<const Type> operandTypes);
bool takesEpilogue(const OpDef& def);
// The epilogue works in place: on f32, and on the i32 of products of bytes, in whose memory it leaves f32.
Dtype epilogueReads(const OpDef& def);
// Convolutions whose builtin sees [n, m, positions]: conv, conv_packed, conv_integer.
bool isConvolution(const OpDef& def);
// Operations that lay constant weights out for the machine that runs, once, when a module is loaded: they are no constants of the module.
bool packsWeights(const OpDef& def);

// The epilogue of a convolution sees [n, m, positions]: the spatial axes as one. The body of elementwise operations with its types changed so, for the
// kernel only; null when some operand varies along some spatial axes and not along others.
const Function* withFlatPositions(IrContext& ir, const Function& body, int rank);

}  // namespace dyn
