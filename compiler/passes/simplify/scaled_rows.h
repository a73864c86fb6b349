// Normalisation of rows by constants is a product and a sum.
//   before  %y = batch_norm(%x, %s, %b, %m, %v) with %x [n, c] and the others constant [c]
//   after   %t = mul(%x, %f)  %y = add(%t, %g) with %f = s / sqrt(v + epsilon) and %g = b - m f constant
// Where channels are not innermost a row of them has one factor, which the kernel computes once: that stays.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

// Puts these operations at the end of `ops` and hands on the last, or null where it is another operation.
const Op* scaledRows(const Op& norm, IrContext& ir, const std::unordered_map<ValueId, const Op*>& definitions,
                     std::vector<const Op*>& ops);

}  // namespace dyn::passes
