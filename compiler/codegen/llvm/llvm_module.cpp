#include "compiler/codegen/llvm/llvm_module.h"

#include "compiler/codegen/llvm/llvm_failure.h"
#include "compiler/codegen/llvm/llvm_target.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace dyn {

KernelModule::KernelModule(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
KernelModule::KernelModule(KernelModule&&) noexcept = default;
KernelModule& KernelModule::operator=(KernelModule&&) noexcept = default;
KernelModule::~KernelModule() = default;

const std::string& KernelModule::name() const { return contents_->name; }
const MachineDescription& KernelModule::machine() const { return contents_->machine; }

std::string KernelModule::irText() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  contents_->module->print(out, nullptr);
  return text;
}

Status KernelModule::verify() const {
  std::string message;
  llvm::raw_string_ostream out(message);
  if (llvm::verifyModule(*contents_->module, &out))
    return makeError(DiagnosticId::internalError,
                     "generated code of '" + name() + "' is malformed: " + message);
  return {};
}

Result<KernelModule> makeKernelModule(const std::string& name, const MachineDescription& machine) {
  DYN_TRY(const std::string layout, dataLayoutOf(machine));
  auto contents = std::make_unique<KernelModule::Contents>();
  contents->name = name;
  contents->machine = machine;
  contents->diagnostics = std::make_unique<std::string>();
  contents->ownContext = std::make_unique<llvm::LLVMContext>();
  collectDiagnostics(*contents->ownContext, contents->diagnostics.get());
  contents->module = std::make_unique<llvm::Module>(name, *contents->ownContext);
  contents->module->setTargetTriple(machine.triple);
  contents->module->setDataLayout(layout);
  contents->module->setPICLevel(llvm::PICLevel::BigPIC);
  if (!machine.abi.empty())  // RISC-V reads the ABI from the module, too, and insists that both agree
    contents->module->addModuleFlag(llvm::Module::Error, "target-abi",
                                    llvm::MDString::get(*contents->ownContext, machine.abi));
  return KernelModule(std::move(contents));
}

namespace {

llvm::Function* addWithLinkage(KernelModule& module, const std::string& name, llvm::FunctionType* type,
                               llvm::GlobalValue::LinkageTypes linkage) {
  llvm::Function* function = llvm::Function::Create(type, linkage, name, *module.contents().module);
  function->addFnAttr("target-cpu", module.machine().cpu);
  if (!module.machine().features.empty()) function->addFnAttr("target-features", module.machine().features);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return function;
}

}  // namespace

llvm::Function* addFunction(KernelModule& module, const std::string& name, llvm::FunctionType* type) {
  return addWithLinkage(module, name, type, llvm::GlobalValue::ExternalLinkage);
}

llvm::Function* addPrivateFunction(KernelModule& module, const std::string& name, llvm::FunctionType* type) {
  return addWithLinkage(module, name, type, llvm::GlobalValue::InternalLinkage);
}

namespace {

llvm::Function* addWithArguments(KernelModule& module, const std::string& name, bool withSizes) {
  llvm::LLVMContext& context = module.contents().context();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  std::vector<llvm::Type*> arguments = {pointer, pointer, i64, i64, pointer};
  if (withSizes) arguments.push_back(pointer);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), arguments, false);
  llvm::Function* function =
      withSizes ? addPrivateFunction(module, name, type) : addFunction(module, name, type);
  const char* names[] = {"buffers", "scalars", "begin", "end", "scratch", "sizes"};
  for (unsigned i = 0; i < arguments.size(); ++i) function->getArg(i)->setName(names[i]);
  return function;
}

}  // namespace

llvm::Function* addKernelFunction(KernelModule& module, const std::string& name) {
  return addWithArguments(module, name, /*withSizes=*/false);
}

llvm::Function* addGeneralFunction(KernelModule& module, const std::string& name) {
  return addWithArguments(module, name, /*withSizes=*/true);
}

void forbidUnrolling(llvm::BranchInst* backEdge) {
  llvm::LLVMContext& context = backEdge->getContext();
  llvm::MDNode* disable =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);  // a loop id refers to itself
  backEdge->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

llvm::Value* makeOpaque(llvm::IRBuilderBase& builder, llvm::Value* value) {
  auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  llvm::InlineAsm* nothing = llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false);
  return builder.CreateCall(type, nothing, {value});
}

}  // namespace dyn
