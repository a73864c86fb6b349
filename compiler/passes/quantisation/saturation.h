// A bound that the bytes have anyway is left out in front of them.
//
//   before  %y = relu(%x)  %q = quantize_linear(%y, %s, %z)       with %s = 0.1, %z = 0 of u8
//   after   %q = quantize_linear(%x, %s, %z)
// relu, and clip with constant bounds, where the byte of each bound is the smallest or the largest there is
// and nothing else reads the bounded value. Results are the same to the bit.
#pragma once

#include "compiler/ir/module.h"

namespace dyn::passes {

// The function itself where there are none. Types are known.
const Function* withoutSaturatedBounds(const Function& function, IrContext& ir);

}  // namespace dyn::passes
