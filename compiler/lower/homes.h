// The dominance check of lowering: the definition of every value that lowering reads dominates the use, and
// every dim that it computes with has a value there.
//
//   DYN_CHECK(everyUseIsDominated(placed));      // "the dim ?2 has no value where %x gets its memory (reshape: a size given as a value)"
//
// It runs before lowering, in every build, because a pass that moves, merges or drops operations can separate
// a use from its definition; lowering itself could only report a missing register. The walk follows the order
// of the bytecode: bodies of if, loop and match share the registers around them, and their definitions end
// with them; constants and dims that stand for values are made where they are read. A shape function that
// runs inside the program (a view, memory of a size that depends on values) counts as a definition of the
// symbols of its results: shape_program.h checks it. Linear in the size of the module; no recursion.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn {

// Error internalError: a pass broke the rule. The message names the value or the dim, the operation that uses
// it, and the function.
Status everyUseIsDominated(const Module& placed);

}  // namespace dyn
