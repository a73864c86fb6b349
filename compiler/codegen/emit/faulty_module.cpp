#include "compiler/codegen/emit/faulty_module.h"

#include "compiler/codegen/llvm/llvm_module.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace dyn {

Result<KernelModule> makeFaultyModule(FaultyModule kind, const MachineDescription& machine) {
  DYN_TRY(KernelModule module, makeKernelModule("faulty", machine));
  llvm::Function* function = addKernelFunction(module, "faulty");
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.contents().context(), "entry", function));
  auto* nothing = llvm::FunctionType::get(b.getVoidTy(), false);
  switch (kind) {
    case FaultyModule::malformed:
      return module;
    case FaultyModule::notSelectable: {
      llvm::Value* values = b.CreateLoad(llvm::FixedVectorType::get(b.getFloatTy(), 16), function->getArg(0));
      llvm::Value* scaled = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                              {values, values, values, b.getInt16(-1), b.getInt32(4)});
      b.CreateStore(scaled, function->getArg(0));
      break;
    }
    case FaultyModule::badInlineAssembly:
      b.CreateCall(nothing,
                   llvm::InlineAsm::get(nothing, "thisisnoinstruction %no", "", /*hasSideEffects=*/true));
      break;
    case FaultyModule::undefinedSymbol:
      b.CreateCall(module.contents().module->getOrInsertFunction("dyn_nowhere_defined", nothing));
      break;
  }
  b.CreateRet(b.getInt32(0));
  return module;
}

}  // namespace dyn
