// Debug lines of a kernel: those of its text. What is computed further out keeps the line of the statement
// that asked for it first.
#include "compiler/codegen/emit/kernel_emitter.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfoMetadata.h"

namespace dyn {

void KernelEmitter::beginLines() {
  if (!lines_) return;
  llvm::Module& module = *module_.contents().module;
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIBuilder builder(module);
  llvm::DIFile* file = builder.createFile("loop.ir", "");
  builder.createCompileUnit(
      llvm::dwarf::DW_LANG_C, file, "", /*isOptimized=*/true, "", 0, "",
      device_ ? llvm::DICompileUnit::DebugDirectivesOnly : llvm::DICompileUnit::LineTablesOnly);
  llvm::DISubroutineType* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  subprogram_ = builder.createFunction(file, symbol_, symbol_, file, 1, type, 1, llvm::DINode::FlagZero,
                                       llvm::DISubprogram::SPFlagDefinition);
  function_->setSubprogram(subprogram_);
  builder.finalize();
  b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, 1, 0, subprogram_));
}

// LLVM wants a line at each call in a function that has lines.
void KernelEmitter::endLines() {
  if (!lines_) return;
  for (llvm::BasicBlock& block : *function_)
    for (llvm::Instruction& instruction : block)
      if (!instruction.getDebugLoc())
        instruction.setDebugLoc(llvm::DILocation::get(context_, 1, 0, subprogram_));
}

void KernelEmitter::atLineOf(const loop::Stmt& stmt) {
  if (!lines_) return;
  const auto line = lines_->find(&stmt);
  if (line != lines_->end())
    b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, line->second, 0, subprogram_));
}

}  // namespace dyn
