// Modules with the mistakes an emitter could make, to test that each becomes an error and nothing exits.
#pragma once

#include "compiler/codegen/llvm/kernel_module.h"

namespace dyn {

enum class FaultyModule {
  malformed,          // a block without terminator: LLVM's verifier rejects it
  notSelectable,      // an AVX-512 instruction for a machine without it: LLVM's fatal error "Cannot select"
  badInlineAssembly,  // reported as a diagnostic, which exits a process without a handler
  undefinedSymbol     // compiles; fails when loaded
};

// `machine`: x86-64 without AVX-512 for notSelectable. The exported function is named "faulty".
Result<KernelModule> makeFaultyModule(FaultyModule kind, const MachineDescription& machine);

}  // namespace dyn
