// Reals made of bytes are made where they are read.
//
//   before  %a = dequantize_linear(%x, %s, %z)  %m = reduce_mean(%a, %axes)  %y = mul(%a, %m)
//   after   %a = dequantize_linear(%x, %s, %z)  %m = reduce_mean(%a, %axes)
//           %b = dequantize_linear(%x, %s, %z)  %y = mul(%b, %m)
// Kernels that read them then read bytes, a quarter of the memory, and what makes the bytes ends with them.
// Operations whose kernels take no dequantised operand in keep sharing the one there is.
#pragma once

#include "compiler/ir/module.h"

namespace dyn::passes {

// The function itself where nothing is shared so. Types are known.
const Function* withClonedDequantize(const Function& function, IrContext& ir);

}  // namespace dyn::passes
