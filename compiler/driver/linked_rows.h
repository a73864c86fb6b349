// Which hand-written kernels a linked program has: an object that names the rows it calls (vm/embedded/
// linked_rows.h). The linker brings what they need and leaves the rest out; a row that is named and not there
// is its error.
#pragma once

#include <string>

#include "compiler/driver/elf_object.h"
#include "vm/isa/program.h"

namespace dyn {

enum class MatrixKernels : uint8_t { generated, ofRuntime };

// The object's bytes. Errors: unsupportedFeature for a row that the runtime does not have (a library's).
Result<std::string> linkedRowsObject(const vm::Program& program, MatrixKernels kernels,
                                     const ElfMachine& machine);

}  // namespace dyn
