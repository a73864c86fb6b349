// The machine code of a compiled model: where code generation is called, and the one place that knows whether LLVM is there.
#pragma once

#include "compiler/driver/compile.h"

namespace dyn {

// Compiles all kernels of `compiled.lowered` (in parallel, through the object cache) and loads them. Without LLVM: error unsupportedFeature
// when there is any kernel.
Status generateCode(CompiledModel& compiled, const CompileOptions& options);

// Null when there is no such kernel.
DynKernelFunction findKernel(const NativeCode& code, const char* symbol);
// Null: the runtime's own micro-kernels.
const DynGemmFamily* gemmFamilyOf(const NativeCode& code);

}  // namespace dyn
