#include "vm/device/cuda/cuda_gpu.h"

#include "vm/base/device_text.h"

namespace dyn::vm {

CudaGpu::Fault CudaGpu::open() {
  if (!driver_) {
    std::string why;
    const CudaDriver* driver = cudaDriver(why);
    if (!driver) return {DYN_UNAVAILABLE, why};
    if (const int error = driver->init(0)) return unavailable(*driver, "cuInit", error);
    int count = 0;
    if (const int error = driver->deviceGetCount(&count)) return unavailable(*driver, "the devices", error);
    if (count == 0) return {DYN_UNAVAILABLE, "the CUDA driver has no device"};
    const std::string name = "cuda:" + std::to_string(index_);
    if (index_ >= count)
      return {DYN_UNAVAILABLE,
              "there is no device " + name + ": the CUDA driver has " +
                  (count == 1 ? "cuda:0 alone" : "cuda:0 to cuda:" + std::to_string(count - 1))};
    int device = 0;
    if (const int error = driver->deviceGet(&device, index_))
      return unavailable(*driver, "device " + name, error);
    if (const int error = driver->primaryContextRetain(&context_, device))
      return unavailable(*driver, "the context of device " + name, error);
    int major = 0, minor = 0;
    if (const int error = driver->deviceGetAttribute(&major, kCudaCapabilityMajor, device))
      return unavailable(*driver, "what device " + name + " is", error);
    if (const int error = driver->deviceGetAttribute(&minor, kCudaCapabilityMinor, device))
      return unavailable(*driver, "what device " + name + " is", error);
    chip_ = major * 10 + minor;
    driver_ = driver;
    memory_.emplace(*driver);
  }
  if (Fault fault = ready(); fault.status != DYN_OK) return fault;
  if (streams_.count(0)) return {};
  return newStream(0);
}

CudaGpu::Fault CudaGpu::ready() {
  if (!driver_) return {DYN_INVALID_ARGUMENT, "the device is not open"};
  if (!lost_.empty())
    return {DYN_UNAVAILABLE, "the device cuda:" + std::to_string(index_) + " stopped earlier: " + lost_};
  return told("the context", driver_->contextSetCurrent(context_));
}

std::string CudaGpu::errorName(const CudaDriver& driver, int error) {
  const char* name = nullptr;
  if (driver.getErrorName(error, &name) != kCudaSuccess || !name) name = "unknown";
  return std::string(name) + " (" + std::to_string(error) + ")";
}

CudaGpu::Fault CudaGpu::unavailable(const CudaDriver& driver, const std::string& what, int error) {
  return {DYN_UNAVAILABLE, what + ": " + errorName(driver, error)};
}

CudaGpu::Fault CudaGpu::told(const std::string& what, int error) {
  if (error == kCudaSuccess) return {};
  Fault fault{DYN_DEVICE_ERROR, what + ": " + errorName(*driver_, error)};
  if (error == kCudaOutOfMemory) fault.status = DYN_OUT_OF_MEMORY;
  if (isKernelError(error)) fault.status = DYN_KERNEL_FAULT;
  if (isDeviceLost(error)) {
    fault.status = DYN_UNAVAILABLE;
    fault.text = "the device cuda:" + std::to_string(index_) + " is lost: " + fault.text;
  }
  if (isKernelError(error) || isDeviceLost(error)) lost_ = fault.text;
  return fault;
}

CudaGpu::Fault CudaGpu::allocate(uint32_t stream, uint64_t bytes, void*& memory) {
  if (!streams_.count(stream)) return noStream();
  CudaAddress address = 0;
  const int error = memory_->allocate(stream, bytes, address);
  if (error == kCudaOutOfMemory)
    return {DYN_OUT_OF_MEMORY, std::to_string(bytes) + " bytes: the device has no more memory"};
  memory = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  return told("memory", error);
}

CudaGpu::Fault CudaGpu::deallocate(uint32_t stream, const void* memory) {
  if (memory_->deallocate(stream, addressOf(memory))) return {};
  return {DYN_INVALID_ARGUMENT, "a free of what is none"};
}

CudaGpu::Fault CudaGpu::memoryInfo(uint64_t& freeBytes, uint64_t& totalBytes) {
  size_t left = 0, whole = 0;
  const int error = driver_->memoryGetInfo(&left, &whole);
  freeBytes = left + memory_->keptBytes();
  totalBytes = whole;
  return told("its memory", error);
}

CudaGpu::Fault CudaGpu::allocatePinned(uint64_t bytes, void*& memory) {
  return told("memory of the host", driver_->hostAllocate(&memory, bytes, 0));
}

CudaGpu::Fault CudaGpu::freePinned(void* memory) {
  return told("memory of the host", driver_->hostFree(memory));
}

bool CudaGpu::isRight(const void* address, uint64_t bytes, bool ours) const {
  return ours ? memory_->holds(address, bytes) : !memory_->holds(address, 1);
}

CudaGpu::Fault CudaGpu::copy(Way way, uint32_t stream, void* target, const void* source, uint64_t bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return noStream();
  const CudaStream handle = found->second.handle;
  if (!isRight(target, bytes, way != Way::from) || !isRight(source, bytes, way != Way::to))
    return {DYN_INVALID_ARGUMENT, "a copy at an address of the wrong space, or beyond what is allocated"};
  if (overlap(target, source, bytes)) return {DYN_INVALID_ARGUMENT, "source and target of a copy overlap"};
  if (way == Way::to)
    return told("a copy", driver_->copyHostToDevice(addressOf(target), source, bytes, handle));
  if (way == Way::from)
    return told("a copy", driver_->copyDeviceToHost(target, addressOf(source), bytes, handle));
  return told("a copy", driver_->copyDeviceToDevice(addressOf(target), addressOf(source), bytes, handle));
}

CudaGpu::Fault CudaGpu::fill(uint32_t stream, void* target, uint8_t value, uint64_t bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return noStream();
  if (!memory_->holds(target, bytes))
    return {DYN_INVALID_ARGUMENT, "a fill at an address of the wrong space, or beyond what is allocated"};
  return told("a fill", driver_->fillBytes(addressOf(target), value, bytes, found->second.handle));
}

}  // namespace dyn::vm
