// Internal to codegen: LLVM's standard O2 pipeline, for modules whose emitter leans on the optimiser.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dyn {

// mem2reg, common subexpressions, dead branches.
void promoteRegisters(llvm::Module& module, llvm::TargetMachine& target);
void optimizeModule(llvm::Module& module, llvm::TargetMachine& target);

}  // namespace dyn
