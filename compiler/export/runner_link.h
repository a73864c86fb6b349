// The runner of an executable: the object dynrun.o linked with the hand-written kernels that one program
// calls, against the C library of this machine.
#pragma once

#include <string>

#include "compiler/export/linked_rows.h"
#include "compiler/export/linker.h"

namespace dyn {

// A file of the folder. Errors: fileError, unsupportedFeature where there is no linker.
Result<std::string> linkRunner(const vm::Program& program, MatrixKernels kernels, const std::string& object,
                               TemporaryFolder& folder);

// The files that this process has the C library and its mathematical functions from; the development files
// need not be there.
std::vector<std::string> systemLibraries();

}  // namespace dyn
