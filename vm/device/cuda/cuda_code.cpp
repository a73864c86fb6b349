// CudaGpu: code, and launches of it.
#include <cstdlib>
#include <string_view>

#include "vm/device/cuda/cuda_gpu.h"

namespace dyn::vm {
namespace {

// Of PTX: the number behind ".target sm_"; 0: it says none.
int leastChipOf(const std::string& text) {
  constexpr std::string_view kTarget = ".target sm_";
  const size_t at = text.find(kTarget);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + kTarget.size());
}

}  // namespace

CudaGpu::Fault CudaGpu::loadText(const std::string& text, CudaModule& module) {
  const int error = driver_->moduleLoad(&module, text.c_str());
  if (error == kCudaSuccess) return {};
  Fault fault = told("the module", error);
  if (isCodeError(error)) fault.status = DYN_BAD_PROGRAM;
  return fault;
}

CudaGpu::Fault CudaGpu::loadCode(const void* code, uint64_t bytes, uint64_t& module) {
  if (!code || bytes == 0) return {DYN_BAD_PROGRAM, "no code"};
  const std::string text(static_cast<const char*>(code), bytes);  // the driver wants a zero behind it
  if (const int least = leastChipOf(text); least > chip_)
    return {DYN_UNSUPPORTED,
            "code for sm_" + std::to_string(least) + ", the device is sm_" + std::to_string(chip_)};
  Module made{nullptr, splitPtx(text)};
  if (made.parts.entry.size() < 2) {
    made.parts = {};
    if (Fault fault = loadText(text, made.whole); fault.status != DYN_OK) return fault;
  }
  module = ++lastModule_;
  modules_[module] = std::move(made);
  return {};
}

CudaGpu::Fault CudaGpu::unloadCode(uint64_t module) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) return {DYN_INVALID_ARGUMENT, "code that is not loaded"};
  int error = found->second.whole ? driver_->moduleUnload(found->second.whole) : kCudaSuccess;
  for (const auto& [name, part] : found->second.loaded)
    if (const int other = driver_->moduleUnload(part)) error = other;
  modules_.erase(found);
  std::erase_if(kernels_, [&](const auto& kernel) { return kernel.second->module == module; });
  return told("the module", error);
}

CudaGpu::Fault CudaGpu::findKernel(uint64_t module, const char* name, uint64_t& kernel) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) return {DYN_INVALID_ARGUMENT, "code that is not loaded"};
  Module& from = found->second;
  CudaModule handle = from.whole;
  if (!handle) {
    const std::string text = from.parts.moduleOf(name);
    if (text.empty()) return {DYN_OUT_OF_RANGE, std::string("there is no kernel ") + name};
    CudaModule& loaded = from.loaded[name];
    if (!loaded)
      if (Fault fault = loadText(text, loaded); fault.status != DYN_OK) return fault;
    handle = loaded;
  }
  CudaFunction function = nullptr;
  const int error = driver_->moduleGetFunction(&function, handle, name);
  if (error == kCudaNotFound) return {DYN_OUT_OF_RANGE, std::string("there is no kernel ") + name};
  if (error != kCudaSuccess) return told(name, error);
  kernel = ++lastKernel_;
  kernels_[kernel] = std::make_unique<Kernel>(Kernel{function, module, name});
  return {};
}

void CudaGpu::declareBuffers(const DynLaunch& launch, CudaAddress faultWord) const {
  std::vector<CudaDeclaredBuffer> declared = {{faultWord, faultWord + sizeof(uint64_t), 2}};
  if (launch.product && launch.product->workspaceBytes > 0) {
    const CudaAddress begin = addressOf(launch.product->workspace);
    declared.push_back({begin, begin + launch.product->workspaceBytes, 2});
  }
  for (uint32_t i = 0; i < launch.bufferCount; ++i) {
    const CudaAddress begin = addressOf(launch.buffers[i]);
    if (begin == 0 || launch.bufferBytes[i] == 0) continue;
    CudaDeclaredBuffer row{begin, begin + launch.bufferBytes[i],
                           i + launch.outputCount >= launch.bufferCount ? 1u : 0u};
    // What a kernel updates is among its inputs and its outputs.
    bool known = false;
    for (CudaDeclaredBuffer& other : declared) {
      if (other.begin != row.begin || other.end != row.end) continue;
      if (other.use != row.use) other.use = 2;
      known = true;
    }
    if (!known) declared.push_back(row);
  }
  (void)driver_->declareBuffers(declared.data(), declared.size());
}

CudaGpu::Fault CudaGpu::launch(uint32_t stream, const DynLaunch& launch) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return noStream();
  for (uint32_t i = 0; i < launch.bufferCount; ++i)
    if (launch.buffers[i] && !memory_->holds(launch.buffers[i], 1))
      return {DYN_INVALID_ARGUMENT, "an address of the host where one of the device is due"};
  if (launch.product) return launchProduct(found->second, launch);
  const auto kernel = kernels_.find(launch.kernel);
  if (kernel == kernels_.end()) return {DYN_INVALID_ARGUMENT, "a kernel that is not loaded"};
  if (launch.units <= 0 || launch.gridX == 0 || launch.blockX == 0)
    return {DYN_INVALID_ARGUMENT, "a launch without units or blocks"};
  Stream& queue = found->second;
  std::vector<uint64_t> parameters;
  for (uint32_t i = 0; i < launch.bufferCount; ++i) parameters.push_back(addressOf(launch.buffers[i]));
  for (uint32_t i = 0; i < launch.scalarCount; ++i)
    parameters.push_back(static_cast<uint64_t>(launch.scalars[i]));
  parameters.push_back(static_cast<uint64_t>(launch.units));
  parameters.push_back(queue.faultWord);
  parameters.push_back(queue.launched.size() + queue.captured.size() + 1);
  size_t bytes = parameters.size() * sizeof parameters[0];
  void* extra[] = {kCudaLaunchBufferPointer, parameters.data(), kCudaLaunchBufferSize, &bytes,
                   kCudaLaunchEnd};
  (queue.captures ? queue.captured : queue.launched).push_back(&kernel->second->name);
  queue.mayFault |= launch.mayFault != 0;
  if (driver_->declareBuffers && launch.bufferBytes) declareBuffers(launch, queue.faultWord);
  const int error =
      driver_->launchKernel(kernel->second->function, launch.gridX, launch.gridY, launch.gridZ, launch.blockX,
                            launch.blockY, launch.blockZ, launch.sharedBytes, queue.handle, nullptr, extra);
  return told("kernel " + kernel->second->name, error);
}

}  // namespace dyn::vm
