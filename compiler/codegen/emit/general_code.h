// General kernels (compiler/loop/builder/general_kernel.h) as objects of their own. The name of such an
// object's function follows from what it computes, so it need not be compiled where it is used: those that
// many networks have are compiled when Dyn is built (compiler/codegen/built). The kernels of a program are
// small functions in one object beside them, which call them with their sizes; they are written as assembly,
// for x86-64 alone, as LLVM would take a third of a millisecond for each.
//
//   const GeneralCode code = generalCodeOf(shared.keyOf(i), engine.machine());
//   jobs.push_back(generalCodeJob(general.kernel, general.sizes.size(), code, engine.machine()));
//   calls.push_back({code.symbol, {{"dyn_kernel_7", general.given, general.sizes}}});
//   ...
//   jobs.push_back(generalCallsJob(calls, engine.machine()));
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/emit/loop_codegen.h"
#include "compiler/codegen/object/engine.h"

namespace dyn {

struct GeneralCode {
  std::string key;     // of its job
  std::string symbol;  // of its function
};
// `key`: loop::generalKeyOf.
GeneralCode generalCodeOf(const std::string& key, const MachineDescription& machine);

// The last `openSizes` scalars of the kernel are its sizes. `general` and `machine` outlive the job.
KernelJob generalCodeJob(const loop::Kernel& general, size_t openSizes, const GeneralCode& code,
                         const MachineDescription& machine);

// Kernels of a program that are one general one.
struct GeneralCalls {
  std::string symbol;  // of its function
  std::vector<KernelOfSizes> kernels;
};
KernelJob generalCallsJob(std::vector<GeneralCalls> calls, const MachineDescription& machine);

// What the code of these kernels follows from, beside that of the general one, as text.
std::string keyOfSizes(const std::vector<KernelOfSizes>& kernels);

}  // namespace dyn
