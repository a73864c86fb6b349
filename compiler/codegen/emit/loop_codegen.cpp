#include "compiler/codegen/emit/loop_codegen.h"

#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/llvm/llvm_module.h"
#include "llvm/IR/IRBuilder.h"

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

namespace {

// What of a kernel's scalars the general one takes, one after the other.
llvm::Value* givenScalars(llvm::IRBuilder<>& b, llvm::Value* scalars,
                          const std::vector<loop::GivenScalar>& given) {
  llvm::Value* copy = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), given.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    llvm::Value* from = b.CreateConstGEP1_64(b.getInt64Ty(), scalars, given[i].place);
    llvm::Value* value = b.CreateLoad(b.getInt64Ty(), from);
    if (given[i].multiple != 1)
      value = b.CreateExactSDiv(value, b.getInt64(static_cast<uint64_t>(given[i].multiple)));
    b.CreateStore(value, b.CreateConstGEP1_64(b.getInt64Ty(), copy, i));
  }
  return copy;
}

void addCaller(KernelModule& module, llvm::Function* general, const KernelOfSizes& kernel) {
  llvm::LLVMContext& context = module.contents().context();
  llvm::Constant* sizes = llvm::ConstantDataArray::get(
      context,
      llvm::ArrayRef<uint64_t>(reinterpret_cast<const uint64_t*>(kernel.sizes.data()), kernel.sizes.size()));
  auto* table = new llvm::GlobalVariable(*module.contents().module, sizes->getType(), /*isConstant=*/true,
                                         llvm::GlobalValue::PrivateLinkage, sizes, kernel.symbol + "_sizes");
  table->setAlignment(llvm::Align(8));
  llvm::Function* function = addKernelFunction(module, kernel.symbol);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  arguments.push_back(table);
  bool isPrefix = true;
  for (size_t i = 0; i < kernel.given.size(); ++i)
    isPrefix = isPrefix && kernel.given[i] == loop::GivenScalar{i, 1};
  if (!isPrefix) arguments[1] = givenScalars(b, arguments[1], kernel.given);
  llvm::CallInst* call = b.CreateCall(general, arguments);
  if (isPrefix) call->setTailCall();
  b.CreateRet(call);
}

Result<llvm::Function*> emitGeneral(KernelModule& module, const loop::Kernel& general, size_t openSizes,
                                    const std::string& symbol, const loop::StmtLines* lines) {
  KernelEmitter emitter(module, general, symbol);
  emitter.leaveOpen(openSizes);
  if (lines) emitter.noteLines(*lines);
  DYN_CHECK(emitter.emit());
  return module.contents().module->getFunction(symbol);
}

}  // namespace

Result<KernelModule> emitGeneralKernel(const loop::Kernel& general, const std::vector<KernelOfSizes>& kernels,
                                       const MachineDescription& machine, const loop::StmtLines* lines) {
  DYN_TRY(KernelModule module, makeKernelModule(kernels.at(0).symbol, machine));
  DYN_TRY(llvm::Function * function,
          emitGeneral(module, general, kernels[0].sizes.size(), "dyn_general", lines));
  for (const KernelOfSizes& kernel : kernels) addCaller(module, function, kernel);
  return module;
}

Result<KernelModule> emitGeneralCode(const loop::Kernel& general, size_t openSizes, const std::string& symbol,
                                     const MachineDescription& machine) {
  DYN_TRY(KernelModule module, makeKernelModule(symbol, machine));
  DYN_TRY(llvm::Function * function, emitGeneral(module, general, openSizes, symbol, nullptr));
  // For the other objects of a program, and for nobody else.
  function->setLinkage(llvm::GlobalValue::ExternalLinkage);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
  return module;
}

}  // namespace dyn
