// PTX of a whole program: the list of its kernels and their forms, and the modules
// (vm/shared/dyn_device_code.h).
#include <algorithm>

#include "compiler/codegen/device/device_attention.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/codegen/device/device_generator.h"
#include "compiler/codegen/device/device_library.h"
#include "vm/shared/dyn_device_code.h"

namespace dyn {
namespace {

std::string rowOf(size_t index, const DeviceKernel& kernel, LibraryUse library) {
  const bool inLibrary = !kernel.library.empty();
  return std::to_string(index) + (kernel.thread ? " thread" : "") + (kernel.block ? " block" : "") +
         (kernel.narrow ? " narrow" : "") + (kernel.perUnit ? " units" : "") +
         (kernel.sizes.empty() ? "" : (kernel.attention ? " attention=" : " tile=") + kernel.sizes) +
         (kernel.tensorPtx.empty() ? "" : " tensor") +
         (inLibrary ? std::string(" ") + kLibraryWord + "=" + kernel.library : "") +
         (inLibrary && library == LibraryUse::take ? std::string(" ") + kCublasLt : "") +
         (kernel.mayFault ? " fault\n" : "\n");
}

Result<DeviceMetadata> ptxProgram(std::span<const DeviceKernelSource> kernels,
                                  const DeviceProgramOptions& options) {
  std::vector<std::string> modules, tensorModules;
  std::string rows;
  const DeviceMath math = deviceMathOf(options.math);
  for (const DeviceKernelSource& source : kernels) {
    DYN_TRY(DeviceKernel kernel, emitDeviceKernel(*source.kernel, *source.symbol, math));
    rows += rowOf(source.row, kernel, options.library);
    modules.push_back(std::move(kernel.ptx));
    if (!kernel.tensorPtx.empty()) tensorModules.push_back(std::move(kernel.tensorPtx));
  }
  DeviceMetadata metadata = {{kDeviceKernelsKey, std::move(rows)}, {kDevicePtxKey, joinPtx(modules)}};
  if (math != DeviceMath::fp32) metadata.emplace_back(kDeviceMathKey, options.math);
  if (!tensorModules.empty()) metadata.emplace_back(kDeviceTensorPtxKey, joinPtx(tensorModules));
  return metadata;
}

Result<std::string> ptxText(const DeviceKernelSource& kernel, const DeviceMetadata& metadata) {
  const auto math = std::find_if(metadata.begin(), metadata.end(),
                                 [](const auto& row) { return row.first == kDeviceMathKey; });
  DYN_TRY(DeviceKernel device,
          emitDeviceKernel(*kernel.kernel, *kernel.symbol,
                           math == metadata.end() ? DeviceMath::fp32 : deviceMathOf(math->second)));
  return device.ptx + device.tensorPtx;
}

// The line of the kernel in the list that the runtime reads, as words.
bool isByLibrary(size_t kernel, const DeviceMetadata& metadata) {
  const std::string begin = "\n" + std::to_string(kernel) + " ";
  for (const auto& [key, rows] : metadata) {
    if (key != kDeviceKernelsKey) continue;
    const std::string lines = "\n" + rows;
    const size_t at = lines.find(begin);
    if (at == std::string::npos) return false;
    const std::string line = lines.substr(at, lines.find('\n', at + 1) - at) + " ";
    return line.find(std::string(" ") + kCublasLt + " ") != std::string::npos;
  }
  return false;
}

LibraryAnswer cublasLtAnswer(const DeviceKernelSource& kernel, const DeviceMetadata& metadata) {
  if (tiledAttentionOf(*kernel.kernel)) return {};
  const std::optional<TiledProduct> product = tiledProductOf(*kernel.kernel);
  if (!product || sizesAtLaunch(*kernel.kernel, *product).empty()) return {};
  return {true, isByLibrary(kernel.row, metadata),
          libraryProductOf(*kernel.kernel, *product, DeviceMath::fp32).why};
}

}  // namespace

const DeviceGenerator kPtxGenerator = {ptxProgram, cublasLtAnswer, ptxText};

}  // namespace dyn
