// The end of a pass that made another @main.
#pragma once

#include "compiler/infer/infer.h"

namespace dyn::passes {

// The module with `main` in place of its @main; null: as it is.
inline Module replacedMain(const Module& module, const Function* main) {
  Module result = module;
  for (const Function*& function : result.functions)
    if (main && function == module.main()) function = main;
  return result;
}

// The same with types.
inline Result<Module> withMain(const InferredModule& inferred, const Function* main) {
  DYN_TRY(InferredModule typed, inferTypes(replacedMain(inferred.module, main)));
  return typed.module;
}

}  // namespace dyn::passes
