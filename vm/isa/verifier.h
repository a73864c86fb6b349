// The verifier: run once at load. An accepted program cannot make the interpreter read or write outside its
// registers, tables and code, jump into the middle of an instruction, or fall off the end of a function. What
// depends on values (kinds of objects, sizes, indexes) is checked when it happens.
#pragma once

#include "vm/base/status.h"
#include "vm/isa/program.h"

namespace dyn::vm {

// First problem found, with "function@position" as its place.
Status verifyProgram(const Program& program);

}  // namespace dyn::vm
