// Bodies of kernels: they run in registers, and passes for the host program leave them as they are.
#pragma once

#include <unordered_set>

#include "compiler/ir/module.h"

namespace dyn {

// Regions of `fused` and `into` operations.
std::unordered_set<const Function*> kernelBodiesOf(const Module& module);

}  // namespace dyn
