// Objects that were compiled when Dyn was built: the matrix kernels for levels of x86-64. Every model with
// products wants them, they follow from the machine alone, and LLVM takes as long for them as for all other
// kernels of an image network.
//
//   EngineSettings settings{.built = builtObjects()};   // of these, the engine takes what fits its machine
//
// `write_built_objects` writes the list; its keys are those of the jobs (KernelJob::key), so an object is
// taken where the engine would compile the same text.
#pragma once

#include <span>

#include "compiler/codegen/object/engine.h"

namespace dyn {

std::span<const BuiltObject> builtObjects();

}  // namespace dyn
