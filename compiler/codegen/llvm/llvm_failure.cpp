#include "compiler/codegen/llvm/llvm_failure.h"

#include <exception>
#include <memory>
#include <new>

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"

namespace dyn {
namespace {

struct FatalLlvmError : std::exception {
  explicit FatalLlvmError(std::string text) : reason(std::move(text)) {}
  const char* what() const noexcept override { return reason.c_str(); }
  std::string reason;
};

// Only inside guardLlvm may the handler throw; elsewhere LLVM's own behaviour stays (another user of LLVM in
// this process).
thread_local int guardDepth = 0;

void onFatalError(void*, const char* reason, bool) {
  if (guardDepth > 0) throw FatalLlvmError(reason);
}

class CollectingHandler : public llvm::DiagnosticHandler {
 public:
  explicit CollectingHandler(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(*errors_);
    if (!errors_->empty()) out << "; ";
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    return true;
  }

 private:
  std::string* errors_;
};

}  // namespace

void installFatalErrorHandler() { llvm::install_fatal_error_handler(onFatalError); }

Status guardLlvm(const std::string& doing, const std::function<Status()>& work) {
  const void* stackState = llvm::SavePrettyStackState();
  ++guardDepth;
  Status status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    llvm::RestorePrettyStackState(stackState);
    status = makeError(DiagnosticId::memoryLimit, "out of memory while " + doing);
  } catch (const std::exception& failure) {
    llvm::RestorePrettyStackState(stackState);
    status = makeError(DiagnosticId::internalError, "LLVM failed while " + doing + ": " + failure.what());
  }
  --guardDepth;
  return status;
}

void collectDiagnostics(llvm::LLVMContext& context, std::string* errors) {
  context.setDiagnosticHandler(std::make_unique<CollectingHandler>(errors));
}

Error fromLlvm(llvm::Error error, const std::string& doing) {
  return makeError(DiagnosticId::internalError,
                   "LLVM failed while " + doing + ": " + llvm::toString(std::move(error)));
}

}  // namespace dyn
