// Values that are 0 wherever a mask of keys does not hold.
#pragma once

#include "compiler/loop/expr.h"
#include "compiler/passes/padding/masked_attention.h"

namespace dyn::passes {

// Is the value, with one axis of the batch and one of the sequence, 0 wherever the mask of `site` does not
// hold?
//   %bias = where(%mask, 0, -1e9)   %u = cast(unsqueeze(%mask)) {to = f32}     yes
bool isZeroWhereMasked(const InferredModule& inferred, const MaskedAttention& site, ValueId value);

// The condition c is `m` cast to bool, or m != 0: where it does not hold m is 0. Null: it is neither.
loop::Expr zeroWhereNot(loop::Expr c);

}  // namespace dyn::passes
