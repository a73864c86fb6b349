#include "compiler/driver/device_versions.h"

#include "compiler/driver/kernel_library.h"
#include "vm/shared/dyn_device_code.h"
#ifdef DYN_HAVE_LLVM
#include "compiler/codegen/device/device_attention.h"
#include "compiler/codegen/device/device_library.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_LLVM
namespace {

// The line of the kernel in the list that the runtime reads, as words.
bool isByLibrary(const CompiledModel& compiled, size_t kernel) {
  const std::string begin = "\n" + std::to_string(kernel) + " ";
  for (const auto& [key, rows] : compiled.lowered.program.metadata) {
    if (key != kDeviceKernelsKey) continue;
    const std::string lines = "\n" + rows;
    const size_t at = lines.find(begin);
    if (at == std::string::npos) return false;
    const std::string line = lines.substr(at, lines.find('\n', at + 1) - at) + " ";
    return line.find(std::string(" ") + kCublasLt + " ") != std::string::npos;
  }
  return false;
}

}  // namespace

std::string deviceVersions(const CompiledModel& compiled, size_t kernel) {
  if (kernel >= compiled.lowered.kernels.size() || !compiled.lowered.kernelOnDevice[kernel]) return "";
  const loop::Kernel& source = compiled.lowered.kernels[kernel];
  if (tiledAttentionOf(source)) return "";
  const std::optional<TiledProduct> product = tiledProductOf(source);
  if (!product || sizesAtLaunch(source, *product).empty()) return "";
  if (isByLibrary(compiled, kernel))
    return std::string(kCublasLt) + " (by policy), own (where rows do not lie evenly, or it is not there)";
  std::string why = libraryProductOf(source, *product, DeviceMath::fp32).why;
  if (why.empty())
    if (const Status ready = libraryReady(kCublasLt); !ready.ok()) {
      why = ready.error().message;
      constexpr std::string_view kBefore = "unavailable: version cublaslt: ";
      if (why.rfind(kBefore, 0) == 0) why.erase(0, kBefore.size());
    }
  return std::string("own (by rule), ") + kCublasLt + (why.empty() ? "" : " (unavailable: " + why + ")");
}
#else
std::string deviceVersions(const CompiledModel&, size_t) { return ""; }
#endif

}  // namespace dyn
