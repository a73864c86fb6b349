// Ragged parameters of a function: (b, len[b], ...), with the lengths in a parameter %len of type Tensor[(b),
// i64].
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

// What is wrong with them. Functions other than @main need no lengths: they have their caller's.
std::vector<Diagnostic> raggedFaults(const Module& module, const Function& function);

}  // namespace dyn
