// Internal to codegen (LLVM types): target lookup and target machines for a MachineDescription.
#pragma once

#include <memory>
#include <string>

#include "compiler/target/machine.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

namespace dyn {

// Registers LLVM's target for this machine and the fatal-error handler, once per process; thread-safe.
void initializeLlvm();

Result<const llvm::Target*> lookupTarget(const MachineDescription& machine);

// A new target machine; not thread-safe, so each thread makes its own. Checks the cpu and feature names
// first: LLVM would only print a warning about them.
Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const MachineDescription& machine);

// How LLVM lays data out for the machine; worked out once per process and machine. Thread-safe.
Result<std::string> dataLayoutOf(const MachineDescription& machine);

// Does the machine have all of these, in LLVM's form "+avx2,+fma"?
bool hasFeatures(const MachineDescription& machine, const std::string& features);

}  // namespace dyn
