#include "app/session/handlers/exports/freestanding_export.h"

#include "compiler/export/image_export.h"
#include "compiler/export/program_folder.h"

namespace dyn {

std::string runtimeFile(const char* kind, const Target& target) {
  return (programFolder().parent_path() / "lib" / (std::string(kind) + "-" + processorOf(target) + ".o"))
      .string();
}

Result<uint64_t> bytesOrUnsupported(const FreestandingBound& bound) {
  if (bound.bytes) return *bound.bytes;
  Error error = makeError(DiagnosticId::unsupportedFeature, "unsupported: without a heap: " + bound.why);
  if (bound.why.find("has no bound") == std::string::npos) return error;
  return std::move(error).note("give it one: --dim NAME=1..128");
}

}  // namespace dyn
