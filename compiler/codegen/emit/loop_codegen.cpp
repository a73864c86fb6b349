#include "compiler/codegen/emit/loop_codegen.h"

#include "compiler/codegen/emit/kernel_emitter.h"

namespace dyn {

Result<KernelModule> emitLoopKernel(const loop::Kernel& kernel, const std::string& symbol,
                                    const MachineDescription& machine) {
  DYN_TRY(KernelModule module, makeKernelModule(symbol, machine));
  KernelEmitter emitter(module, kernel, symbol);
  DYN_CHECK(emitter.emit());
  return module;
}

Result<KernelModule> emitLoopKernel(const loop::Kernel& kernel, const std::string& symbol,
                                    const MachineDescription& machine, const loop::StmtLines& lines) {
  DYN_TRY(KernelModule module, makeKernelModule(symbol, machine));
  KernelEmitter emitter(module, kernel, symbol);
  emitter.noteLines(lines);
  DYN_CHECK(emitter.emit());
  return module;
}

}  // namespace dyn
