// Loop IR to machine code: one loop::Kernel becomes one function of the DynKernelFunction ABI.
//
//   DYN_TRY(KernelModule module, emitLoopKernel(kernel, "dyn_kernel_3", machine));
//
// What the emitter does itself, so that no LLVM pass is needed: values are computed at the outermost loop
// they depend on (loop-invariant code motion), each once (common subexpressions); `vector` loops run at the
// machine's float lanes with a scalar tail; addresses that advance by one element are vector loads and
// stores, those that do not advance are broadcasts, others gathers; real reductions over a vector loop use
// several partial accumulators whose number depends on the machine alone. Errors: unsupportedDtype for
// element types without arithmetic here (f8, complex, string), unsupportedFeature for pointer arrays.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/llvm/kernel_module.h"
#include "compiler/loop/builder/general_kernel.h"
#include "compiler/loop/kernel_lines.h"

namespace dyn {

Result<KernelModule> emitLoopKernel(const loop::Kernel& kernel, const std::string& symbol,
                                    const MachineDescription& machine);
// The same, with debug lines: those of the kernel's text.
Result<KernelModule> emitLoopKernel(const loop::Kernel& kernel, const std::string& symbol,
                                    const MachineDescription& machine, const loop::StmtLines& lines);

// One code for kernels that are a general one at some sizes (compiler/loop/builder/general_kernel.h): each is
// a function of its own that calls it with them.
struct KernelOfSizes {
  std::string symbol;
  std::vector<loop::GivenScalar> given;  // the general one's first scalars, made of its own
  std::vector<int64_t> sizes;
};
// `lines`: those of the general kernel's text; null: none.
Result<KernelModule> emitGeneralKernel(const loop::Kernel& general, const std::vector<KernelOfSizes>& kernels,
                                       const MachineDescription& machine,
                                       const loop::StmtLines* lines = nullptr);

// The general one alone, whose last `openSizes` scalars are its sizes, as a function that the other objects
// of a program may call, with one argument more than a kernel has: the sizes.
Result<KernelModule> emitGeneralCode(const loop::Kernel& general, size_t openSizes, const std::string& symbol,
                                     const MachineDescription& machine);

}  // namespace dyn
