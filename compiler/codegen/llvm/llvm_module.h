// Internal to codegen (LLVM types): what an emitter starts from.
//
//   DYN_TRY(KernelModule module, makeKernelModule("softmax", machine));
//   llvm::Function* f = addKernelFunction(module, "dyn_softmax");       // the DynKernelFunction ABI
//   llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.contents().context(), "entry", f));
//   b.CreateRet(b.getInt32(0));
//
// Functions get the machine's target attributes, so each is compiled for the right processor whatever the
// target machine says.
#pragma once

#include <memory>
#include <string>

#include "compiler/codegen/llvm/kernel_module.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace dyn {

struct KernelModule::Contents {
  std::string name;
  MachineDescription machine;
  std::unique_ptr<std::string>
      diagnostics;  // errors LLVM reported on this context; the address is held by the context
  std::unique_ptr<llvm::LLVMContext> ownContext;
  std::unique_ptr<llvm::Module> module;  // after the context, so destroyed before it

  llvm::LLVMContext& context() { return *ownContext; }
};

Result<KernelModule> makeKernelModule(const std::string& name, const MachineDescription& machine);

// An exported function with the machine's target attributes, nounwind; arguments of pointer type are left
// without noalias.
llvm::Function* addFunction(KernelModule& module, const std::string& name, llvm::FunctionType* type);
// The same, private to the module, for shared out-of-line pieces.
llvm::Function* addPrivateFunction(KernelModule& module, const std::string& name, llvm::FunctionType* type);
// An exported function with the signature of DynKernelFunction; arguments named buffers, scalars, begin, end,
// scratch.
llvm::Function* addKernelFunction(KernelModule& module, const std::string& name);
// Private to the module, with one more argument: the sizes that it leaves open.
llvm::Function* addGeneralFunction(KernelModule& module, const std::string& name);

// Floats in one vector register of the machine.
inline unsigned floatLanes(const MachineDescription& machine) {
  return static_cast<unsigned>(machine.vectorBits / 32);
}

// Branch metadata that keeps LLVM from unrolling a loop we unrolled ourselves.
void forbidUnrolling(llvm::BranchInst* backEdge);

// Returns `value` unchanged but unknown to the optimiser, which then cannot recompute or combine it.
llvm::Value* makeOpaque(llvm::IRBuilderBase& builder, llvm::Value* value);

}  // namespace dyn
