// Objects that were compiled when Dyn was built, for levels of x86-64: the matrix kernels, which every model
// with products wants and which follow from the machine alone, and general kernels that many networks have
// (general_kernels.txt, on hosts of x86-64). LLVM would take most of the time to a first result for them.
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
