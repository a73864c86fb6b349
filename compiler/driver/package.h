// Writes a compiled model as a package (.dynpkg): program, constants, and the kernels as one shared object
// for this kind of machine.
//
// The objects are those of the model, or come from the object cache where there is one; they are linked by
// ld.lld (or ld). Whole or not at all: nothing is left behind by a failure. Errors: fileError,
// unsupportedFeature when no linker is found or the build has no code generation.
#pragma once

#include <string>

#include "compiler/driver/compile.h"

namespace dyn {

Status writePackageFile(const CompiledModel& compiled, const std::string& path);

}  // namespace dyn
