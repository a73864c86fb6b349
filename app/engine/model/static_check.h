// Is a program static: does every value have a shape of numbers? If not: what makes it dynamic.
//
//   error[E0005]: not static: matmul makes %y, and its dim 0 is batch: the model takes any size on axis 0 of input x
//     note: fix it: --dim batch=N
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/diagnostic.h"

namespace dyn {

// One diagnostic for each symbol that is left, usageError where --dim would fix it, else unsupportedFeature,
// these first: the operation that has it first, which of its dims, and the cause: an input whose size is not
// fixed, an operation whose result's size depends on values, a loop or branch that changes a size, a function
// written for any size. Empty: static. `inputNames`: of @main's parameters, as the user knows them.
std::vector<Diagnostic> dynamicParts(const Module& typed, const std::vector<std::string>& inputNames);

}  // namespace dyn
