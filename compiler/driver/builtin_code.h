// What a program runs that is no kernel of its own: hand-written kernels of the runtime, as text: what each
// is, and its machine code in this process.
//
// Rows that compute on matrix kernels (gemm, attention, recurrences) spend their time in these; they are
// made for the machine and have a text of their own, one function for each number of rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/compile.h"

namespace dyn {

// What is known of the kernel, as lines that begin with `comment`. Error textName: there is no such kernel.
Result<std::string> builtinCard(std::string_view name, std::string_view comment);
bool runsOnMatrixKernels(std::string_view name);
// Of each its function and those that it calls. Errors unsupportedFeature: built without LLVM, or the program
// is for another architecture.
Result<std::vector<std::string>> builtinAssembly(const CompiledModel& compiled,
                                                 const std::vector<std::string>& names);
// The machine's matrix kernels, the tallest first.
Result<std::string> matrixKernelsAssembly(const CompiledModel& compiled);

}  // namespace dyn
