// The runner of an executable: the object dynrun.o linked with the hand-written kernels that one program
// calls, against the C library of this machine or that of another processor.
#pragma once

#include <string>

#include "compiler/export/linked_rows.h"
#include "compiler/export/linker.h"

namespace dyn {

// What a program takes of its system.
struct SystemFiles {
  std::vector<std::string> libraries;  // the C library and its mathematical functions
  std::string loader;                  // the file, "": none
  std::string loaderPath;              // where the program looks for it
};
// Those of this process; the development files need not be there.
SystemFiles systemOfProcess();
// Those of another processor that a folder has (libc.so.6, libm.so.6, ld-linux-*): the cross build's.
SystemFiles systemIn(const std::string& folder);

// A file of the folder. `besides`: objects and archives of the user (custom kernels). Errors: fileError,
// unsupportedFeature where there is no linker.
Result<std::string> linkRunner(const vm::Program& program, MatrixKernels kernels, const std::string& object,
                               const std::vector<std::string>& besides, const SystemFiles& system,
                               TemporaryFolder& folder);

}  // namespace dyn
