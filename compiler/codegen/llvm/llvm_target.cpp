#include "compiler/codegen/llvm/llvm_target.h"

#include <map>
#include <mutex>

#include "compiler/codegen/llvm/llvm_failure.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

namespace dyn {

// LLVM keeps its target registry per process, so both of these are per process as well. Code for this machine
// is most of what is made: the other targets are registered when one of them is asked for.
void initializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();  // inline assembly is parsed when objects are written
    installFatalErrorHandler();
  });
}

namespace {

void registerAllTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
}

}  // namespace

Result<const llvm::Target*> lookupTarget(const MachineDescription& machine) {
  initializeLlvm();
  static std::mutex registering;  // while one is looked for
  const std::lock_guard<std::mutex> hold(registering);
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(machine.triple, message);
  if (!target) {
    registerAllTargets();
    target = llvm::TargetRegistry::lookupTarget(machine.triple, message);
  }
  if (!target)
    return makeError(DiagnosticId::unsupportedFeature,
                     "no code generator for the target '" + machine.triple + "'");
  return target;
}

bool hasFeatures(const MachineDescription& machine, const std::string& features) {
  const Result<const llvm::Target*> target = lookupTarget(machine);
  if (!target.ok()) return false;
  const std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(machine.triple, machine.cpu, machine.features));
  return info && info->checkFeatures(features);
}

Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const MachineDescription& machine) {
  DYN_TRY(const llvm::Target* target, lookupTarget(machine));
  std::unique_ptr<llvm::MCSubtargetInfo> plain(target->createMCSubtargetInfo(machine.triple, "", ""));
  if (!plain || !plain->isCPUStringValid(machine.cpu))
    return makeError(DiagnosticId::unsupportedFeature,
                     "the target '" + machine.triple + "' has no processor named '" + machine.cpu + "'");
  const llvm::SubtargetFeatures wanted(machine.features);
  for (const std::string& feature : wanted.getFeatures()) {
    llvm::StringRef bare = llvm::StringRef(feature).drop_front();
    bool known = llvm::any_of(plain->getAllProcessorFeatures(),
                              [&](const llvm::SubtargetFeatureKV& row) { return bare == row.Key; });
    if (!known)
      return makeError(DiagnosticId::unsupportedFeature,
                       "the target '" + machine.triple + "' has no feature named '" + bare.str() + "'");
  }
  llvm::TargetOptions options;
  options.MCOptions.ABIName = machine.abi;
  options.AllowFPOpFusion =
      llvm::FPOpFusion::Standard;  // llvm.fmuladd may fuse; separate fmul and fadd never do
  std::unique_ptr<llvm::TargetMachine> made(
      target->createTargetMachine(machine.triple, machine.cpu, machine.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less));
  if (!made)
    return makeError(DiagnosticId::unsupportedFeature,
                     "no code generator for the target '" + machine.triple + "'");
  return made;
}

Result<std::string> dataLayoutOf(const MachineDescription& machine) {
  static std::mutex lock;
  static std::map<std::string, std::string> known;
  const std::string name = machine.triple + "\n" + machine.cpu + "\n" + machine.features + "\n" + machine.abi;
  const std::lock_guard<std::mutex> hold(lock);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  DYN_TRY(const std::unique_ptr<llvm::TargetMachine> target, makeTargetMachine(machine));
  return known.emplace(name, target->createDataLayout().getStringRepresentation()).first->second;
}

}  // namespace dyn
