#ifdef DYN_HAVE_LLVM
#include "tests/unit/compiler/codegen/device/amd_code.h"

#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/llvm/llvm_module.h"
#include "compiler/codegen/object/object_compiler.h"

namespace dyn {
namespace {

Result<KernelModule> moduleOf(const loop::Kernel& kernel, const std::string& symbol, DeviceMapping mapping) {
  DYN_TRY(KernelModule module, makeKernelModule(symbol, amdMachine()));
  KernelEmitter emitter(module, kernel, symbol);
  loop::StmtLines lines;
  loop::print(kernel, lines);
  emitter.noteLines(lines);
  DYN_CHECK(emitter.emitOnDevice(mapping));
  return module;
}

}  // namespace

const MachineDescription& amdMachine() {
  static const MachineDescription kMachine = [] {
    MachineDescription machine;
    machine.name = "rocm";
    machine.triple = "amdgcn-amd-amdhsa";
    machine.cpu = "gfx1030";
    machine.features = "+wavefrontsize32";
    machine.vectorBits = 32;
    machine.fma = true;
    return machine;
  }();
  return kMachine;
}

Result<AmdKernel> emitAmdKernel(const loop::Kernel& kernel, const std::string& symbol,
                                DeviceMapping mapping) {
  if (mapping != DeviceMapping::thread && mapping != DeviceMapping::block)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: tiles of products and attention for AMD's GPUs");
  AmdKernel made;
  DYN_TRY(ObjectCompiler compiler, ObjectCompiler::create(amdMachine()));
  // Writing code uses up a module.
  DYN_TRY(KernelModule forText, moduleOf(kernel, symbol, mapping));
  DYN_TRY(made.assembly, compiler.assembly(forText, {.passes = IrPasses::o2}));
  DYN_TRY(KernelModule forObject, moduleOf(kernel, symbol, mapping));
  DYN_TRY(ObjectCode object, compiler.compile(forObject, {.passes = IrPasses::o2}));
  made.object = std::move(object.bytes);
  return made;
}

}  // namespace dyn
#endif
