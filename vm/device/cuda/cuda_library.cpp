// CudaGpu: products that cuBLASLt does, put into a stream among the launches of kernels.
#include "vm/device/cuda/cuda_gpu.h"

namespace dyn::vm {

CudaGpu::Fault CudaGpu::told(const DynDeviceProduct& product, int status) const {
  if (status == cublaslt::kSuccess) return {};
  Fault fault{DYN_DEVICE_ERROR,
              std::string("kernel ") + product.name + " by cuBLASLt: " + cublasLtStatus(status)};
  if (status == cublaslt::kNotSupported || status == cublaslt::kArchitecture) fault.status = DYN_UNSUPPORTED;
  if (status == cublaslt::kAllocationFailed) fault.status = DYN_OUT_OF_MEMORY;
  return fault;
}

CudaGpu::Fault CudaGpu::openLibrary() {
  if (!products_) {
    std::string why;
    const CublasLt* library = cublasLt(why);
    if (!library) return {DYN_UNAVAILABLE, why};
    products_.emplace(*library);
  }
  if (const int status = products_->open(); status != cublaslt::kSuccess)
    return {DYN_UNAVAILABLE, "cuBLASLt cannot be used here: " + cublasLtStatus(status)};
  return {};
}

CudaGpu::Fault CudaGpu::planProduct(DynDeviceProduct& product, void* const* buffers,
                                    uint64_t mostWorkspaceBytes) {
  if (Fault fault = openLibrary(); fault.status != DYN_OK) return fault;
  return told(product, products_->plan(product, buffers, mostWorkspaceBytes));
}

CudaGpu::Fault CudaGpu::launchProduct(Stream& queue, const DynLaunch& launch) {
  const DynDeviceProduct& product = *launch.product;
  if (!products_) return {DYN_INVALID_ARGUMENT, "a product that was not planned"};
  if (product.workspaceBytes > 0 && !memory_->holds(product.workspace, product.workspaceBytes))
    return {DYN_INVALID_ARGUMENT, "a workspace that is not the device's"};
  const std::string& name = *productNames_.insert(std::string(product.name) + " by cuBLASLt").first;
  (queue.captures ? queue.captured : queue.launched).push_back(&name);
  if (driver_->declareBuffers && launch.bufferBytes) declareBuffers(launch, queue.faultWord);
  return told(product, products_->launch(product, launch.buffers, queue.handle));
}

}  // namespace dyn::vm
