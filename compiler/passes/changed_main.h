// The end of a pass that made another @main.
#pragma once

#include "compiler/infer/infer.h"

namespace dyn::passes {

// The module with `main` in place of its @main, with types.
inline Result<Module> withMain(const InferredModule& inferred, const Function* main) {
  Module result = inferred.module;
  for (const Function*& function : result.functions)
    if (function == inferred.module.main()) function = main;
  DYN_TRY(InferredModule typed, inferTypes(result));
  return typed.module;
}

}  // namespace dyn::passes
