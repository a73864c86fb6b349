// A convolution with windows of one along its only spatial axis, as a product:
//
//   %y = conv(%x, %w, %o)   x [1, c, n], w [d, c, 1]     y[0, j, i] = sum(k, x[0, k, i] * w[j, k, 0]) + o[j]
//
// In groups: a product for each. It takes no position at all, too, where a convolution demands one.
#pragma once

#include "compiler/passes/rewrite/op_maker.h"

namespace dyn::passes {

// `sizes`: of the operands of `conv` before, [b, c, s] and [d, c / groups, 1]. Null bias: kNoValue.
ValueId pointwiseProduct(OpMaker& make, const Op& conv, const Shape& x, const Shape& w,
                         const std::vector<ValueId>& operands);

}  // namespace dyn::passes
