// Calls of functions with ragged operands, taken into @main: rows are laid behind each other there.
//
//   fn @layer(%x: Tensor[(n, of[n], 8), f32]) { %y = relu(%x) return %y }
//   %z = @layer(%x)        ->        %z = relu(%x)
#pragma once

#include "compiler/infer/infer.h"

namespace dyn::passes {

// `module` has types. Types of what was taken in are inferred anew. Functions that nobody calls any more are
// left out where they have ragged parameters. Errors: unsupportedFeature where functions call each other.
Result<InferredModule> withRaggedCallsInlined(const Module& module);

}  // namespace dyn::passes
