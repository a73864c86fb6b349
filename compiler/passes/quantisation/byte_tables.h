// What follows from one byte alone is a table of 256 bytes.
//
//   before  %a = dequantize_linear(%x, %s, %z)  %b = sigmoid(%a)  %c = mul(%a, %b)  %y = quantize_linear(%c, %t, %u)
//   after   %r = constant() {value = u8[256] [0, 1, ...]}  the same operations over %r, which give %v: Tensor[(256), u8]
//           %i = cast(%x) {to = i32}  %y = gather(%v, %i)
// That is: bytes made by elementwise operations of another tensor of bytes and of constants that are single
// numbers, by way of reals, and at more expense than a look into a table. The operations over the 256 bytes
// are those that were there, so that results are the same to the bit; `fold` computes them. Those over %x are
// dead afterwards.
#pragma once

#include "compiler/ir/module.h"

namespace dyn::passes {

// The function with its tables, their number added to `tables`; the function itself where there are none.
// Types are known.
const Function* withByteTables(const Function& function, IrContext& ir, int64_t& tables);

}  // namespace dyn::passes
