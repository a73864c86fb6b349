// One of the two files that include LLVM's heaviest headers (PassBuilder); nothing else belongs here.
#include "compiler/codegen/object/optimize.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace dyn {

void optimizeModule(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::PassBuilder builder(&target);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  // Before the builder's own registration, which leaves an analysis alone that is already there.
  functions.registerPass(
      [&] { return llvm::TargetLibraryAnalysis(llvm::TargetLibraryInfoImpl(target.getTargetTriple())); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

}  // namespace dyn
