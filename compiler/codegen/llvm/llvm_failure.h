// Internal to codegen: failures inside LLVM become errors; nothing prints, exits or aborts.
//
// LLVM reports a fatal error ("Cannot select ...") through a process-wide handler that must not return. Ours
// throws, and guardLlvm catches; this is the one place of Dyn where an exception travels, and it never leaves
// it. What LLVM had allocated in between is lost, which is acceptable because such an error is a defect of an
// emitter.
#pragma once

#include <functional>
#include <string>

#include "compiler/support/result.h"
#include "llvm/Support/Error.h"

namespace llvm {
class LLVMContext;
}

namespace dyn {

void installFatalErrorHandler();

// Runs `work`; a fatal error in it becomes internalError. "while" text names what was being done: "compiling
// gemm_r6".
Status guardLlvm(const std::string& doing, const std::function<Status()>& work);

// Collects LLVM's diagnostics of error severity (LLVM prints and exits without a handler); warnings and
// remarks are dropped.
void collectDiagnostics(llvm::LLVMContext& context, std::string* errors);

Error fromLlvm(llvm::Error error, const std::string& doing);

}  // namespace dyn
