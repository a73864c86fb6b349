// The machine code of a compiled model: where code generation is called, and the one place that knows whether
// LLVM is there.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "vm/include/abi/dyn_flow.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

// Compiles all kernels of `compiled.lowered` for its target (in parallel, through the object cache) and keeps
// the objects. Without LLVM: error unsupportedFeature when there is any kernel.
Status emitObjects(CompiledModel& compiled, const CompileOptions& options);
// The kernels that the target's device runs, as text for its driver, among the program's metadata.
Status emitDeviceCode(CompiledModel& compiled, const CompileOptions& options);
// Takes the objects into this process, with the machine's matrix kernels where the program wants them. The
// target must run here.
Status loadCode(CompiledModel& compiled);

// Null when there is no such kernel.
DynKernelFunction findKernel(const NativeCode& code, const char* symbol);
// The object files of all kernels, those that were made or from the cache, in the order of the first kernel
// that each is of; then those of the matrix kernels where the program wants them.
Result<std::vector<std::string>> packageObjects(const CompiledModel& compiled);
// What runs on one of the target's machines: these, and, where `flow` is given, the host program of what will
// be loaded as native code.
struct MachineCode {
  std::string needs;  // as packages name their object sections: "x86_64:v3"
  std::vector<std::string> objects;
};
// Of each machine, the least first. Without LLVM: none.
Result<std::vector<MachineCode>> codeForMachines(const CompiledModel& compiled, const vm::Program* flow);
// The host program in this process.
struct FlowLoaded;
Result<std::shared_ptr<const FlowLoaded>> loadFlow(const CompiledModel& compiled, const vm::Program& program);
const DynFlowProgram* flowProgramOf(const FlowLoaded& flow);

// Columns of a panel of the matrix kernels made for a target.
int32_t gemmPanelWidth(const Target& target);
// Null: the runtime's own micro-kernels.
const DynGemmFamily* gemmFamilyOf(const NativeCode& code);

}  // namespace dyn
