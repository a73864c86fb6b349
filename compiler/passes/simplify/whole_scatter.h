// A scatter that writes every element once, at its own place, is its updates. So exporters write an
// assignment to a slice that is everything: mask[:, :, :, :n] = x.
//   before  %i = concat(%b, %h, %s, %k) {axis = -1} with the running numbers of each axis
//           %y = scatter_nd(%x, %i, %u)
//   after   %y = %u
#pragma once

#include "compiler/infer/infer.h"

namespace dyn::passes {

// The updates that are the result of this scatter_nd of `function`; kNoValue: other elements may be left, or
// moved.
ValueId wholeScatter(const Op& scatter, const Function& function, const InferredModule& inferred);

}  // namespace dyn::passes
