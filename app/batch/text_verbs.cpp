// completion, manual: what follows from the command line itself.
#include "app/batch/verbs.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

namespace {

int printed(const BatchContext& context, const std::string& text) {
  const Status written = writeStandard(1, text);
  return written.ok() ? 0 : context.output.failure(written.error());
}

}  // namespace

int verb_completion(const BatchContext& context) {
  return printed(context, completionText(context.request.text("shell")));
}

int verb_manual(const BatchContext& context) { return printed(context, manualText()); }

}  // namespace dyn
