#include "compiler/codegen/object/object_compiler.h"

#include <mutex>

#include "compiler/codegen/llvm/llvm_failure.h"
#include "compiler/codegen/llvm/llvm_module.h"
#include "compiler/codegen/llvm/llvm_target.h"
#include "compiler/codegen/object/optimize.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

namespace dyn {

namespace {

// The passes from IR to machine code. For x86 the reduction of strength in loops is left out: it takes a
// quarter of LLVM's time, and addresses of base and scaled index say what it would write out, so that the
// code is not slower without it. LLVM has a process-wide option for this alone, which it reads here.
bool addCodePasses(llvm::TargetMachine& target, llvm::legacy::PassManager& passes,
                   llvm::raw_pwrite_stream& stream, llvm::CodeGenFileType type) {
  static std::mutex optionLock;
  const std::lock_guard<std::mutex> hold(optionLock);
  llvm::StringMap<llvm::cl::Option*>& options = llvm::cl::getRegisteredOptions();
  if (const auto found = options.find("disable-lsr"); found != options.end())
    static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(target.getTargetTriple().isX86());
  return !target.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true);
}

}  // namespace

struct ObjectCompiler::State {
  MachineDescription machine;
  std::unique_ptr<llvm::TargetMachine> target;

  Status emit(KernelModule& module, const CompileSettings& settings, llvm::CodeGenFileType type,
              std::string& out);
};

ObjectCompiler::ObjectCompiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
ObjectCompiler::ObjectCompiler(ObjectCompiler&&) noexcept = default;
ObjectCompiler& ObjectCompiler::operator=(ObjectCompiler&&) noexcept = default;
ObjectCompiler::~ObjectCompiler() = default;

Result<ObjectCompiler> ObjectCompiler::create(const MachineDescription& machine) {
  auto state = std::make_unique<State>();
  state->machine = machine;
  DYN_TRY(state->target, makeTargetMachine(machine));
  return ObjectCompiler(std::move(state));
}

Status ObjectCompiler::State::emit(KernelModule& module, const CompileSettings& settings,
                                   llvm::CodeGenFileType type, std::string& out) {
  const std::string doing = "compiling '" + module.name() + "' for " + machine.cpu;
  if (module.machine().triple != machine.triple)
    return makeError(
        DiagnosticId::internalError,
        "'" + module.name() + "' was made for " + module.machine().triple + ", not for " + machine.triple);
#ifndef DYN_VERIFY_EACH
  if (settings.verify == VerifyModules::yes)
#endif
    DYN_CHECK(module.verify());
  const bool isQuick = settings.passes == IrPasses::quick;
  if (settings.passes == IrPasses::registers || isQuick) promoteRegisters(*module.contents().module, *target);
  if (settings.passes == IrPasses::o2)
    DYN_CHECK(guardLlvm("optimising '" + module.name() + "'", [&]() -> Status {
      optimizeModule(*module.contents().module, *target);
      return {};
    }));

  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  Status status;
  {
    target->setOptLevel(isQuick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less);
    target->setFastISel(isQuick);
    llvm::legacy::PassManager passes;
    passes.add(new llvm::TargetLibraryInfoWrapperPass(llvm::Triple(machine.triple)));
    if (!addCodePasses(*target, passes, stream, type))
      return makeError(DiagnosticId::unsupportedFeature,
                       "LLVM cannot write object files for " + machine.triple);
    status = guardLlvm(doing, [&]() -> Status {
      passes.run(*module.contents().module);
      return {};
    });
  }
  DYN_CHECK(std::move(status));
  const std::string& reported = *module.contents().diagnostics;
  if (!reported.empty())
    return makeError(DiagnosticId::internalError, "LLVM failed while " + doing + ": " + reported);
  out.assign(buffer.begin(), buffer.end());
  return {};
}

Result<ObjectCode> ObjectCompiler::compile(KernelModule& module, const CompileSettings& settings) {
  ObjectCode object;
  DYN_CHECK(state_->emit(module, settings, llvm::CodeGenFileType::ObjectFile, object.bytes));
  return object;
}

Result<std::string> ObjectCompiler::assembly(KernelModule& module, const CompileSettings& settings) {
  std::string text;
  DYN_CHECK(state_->emit(module, settings, llvm::CodeGenFileType::AssemblyFile, text));
  return text;
}

}  // namespace dyn
