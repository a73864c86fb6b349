#include "compiler/driver/device_versions.h"

#include "compiler/driver/kernel_library.h"
#ifdef DYN_HAVE_LLVM
#include "compiler/codegen/device/device_generator.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_LLVM
std::string deviceVersions(const CompiledModel& compiled, size_t kernel) {
  if (kernel >= compiled.lowered.kernels.size() || !compiled.lowered.kernelOnDevice[kernel]) return "";
  const vm::Program& program = compiled.lowered.program;
  LibraryAnswer answer =
      generatorOf(compiled.target.device)
          .library({kernel, &compiled.lowered.kernels[kernel], &program.kernels[kernel].symbol},
                   program.metadata);
  if (!answer.hasVersions) return "";
  const std::string library(deviceRow(compiled.target.device).library);
  if (answer.isTaken) return library + " (by policy), own (where rows do not lie evenly, or it is not there)";
  if (answer.why.empty())
    if (const Status ready = libraryReady(library); !ready.ok()) {
      answer.why = ready.error().message;
      const std::string before = "unavailable: version " + library + ": ";
      if (answer.why.rfind(before, 0) == 0) answer.why.erase(0, before.size());
    }
  return "own (by rule), " + library + (answer.why.empty() ? "" : " (unavailable: " + answer.why + ")");
}
#else
std::string deviceVersions(const CompiledModel&, size_t) { return ""; }
#endif

}  // namespace dyn
