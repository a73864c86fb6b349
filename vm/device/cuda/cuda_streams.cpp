// CudaGpu: streams, and waiting for them.
#include <utility>

#include "vm/base/kernel_fault.h"
#include "vm/device/cuda/cuda_gpu.h"

namespace dyn::vm {
namespace {

constexpr uint64_t kNoFault = ~uint64_t{0};

}  // namespace

CudaGpu::Fault CudaGpu::newStream(uint32_t number) {
  Stream stream;
  void* seen = nullptr;
  int error = driver_->streamCreate(&stream.handle, kCudaStreamNonBlocking);
  if (error != kCudaSuccess) return told("a stream", error);
  error = driver_->memoryAllocate(&stream.faultWord, sizeof(uint64_t));
  if (error == kCudaSuccess) error = driver_->hostAllocate(&seen, sizeof(uint64_t), 0);
  if (error == kCudaSuccess)
    error = driver_->fillBytes(stream.faultWord, 0xff, sizeof(uint64_t), stream.handle);
  stream.seen = static_cast<uint64_t*>(seen);
  streams_[number] = stream;
  if (error == kCudaSuccess) return {};
  Fault fault = told("a stream", error);
  if (stream.faultWord) (void)driver_->memoryFree(stream.faultWord);
  if (seen) (void)driver_->hostFree(seen);
  (void)driver_->streamDestroy(stream.handle);
  streams_.erase(number);
  return fault;
}

CudaGpu::Fault CudaGpu::createStream(uint32_t& stream) {
  stream = lastStream_ + 1;
  Fault fault = newStream(stream);
  if (fault.status == DYN_OK) ++lastStream_;
  return fault;
}

CudaGpu::Fault CudaGpu::createStreamBeside(uint32_t other, uint32_t& stream) {
  const auto found = streams_.find(other);
  if (found == streams_.end() || found->second.faultWord == 0) return noStream();
  Stream made;
  void* seen = nullptr;
  if (const int error = driver_->streamCreate(&made.handle, kCudaStreamNonBlocking))
    return told("a stream", error);
  if (const int error = driver_->hostAllocate(&seen, sizeof(uint64_t), 0)) {
    (void)driver_->streamDestroy(made.handle);
    return told("a stream", error);
  }
  made.seen = static_cast<uint64_t*>(seen);
  made.faults = other;
  streams_[stream = ++lastStream_] = made;
  return {};
}

CudaGpu::Fault CudaGpu::destroyStream(uint32_t stream) {
  const auto found = streams_.find(stream);
  if (stream == 0 || found == streams_.end()) return {};
  (void)driver_->streamSynchronize(found->second.handle);
  if (found->second.faultWord) (void)driver_->memoryFree(found->second.faultWord);
  (void)driver_->hostFree(found->second.seen);
  memory_->endStream(stream);
  const int error = driver_->streamDestroy(found->second.handle);
  streams_.erase(found);
  return told("a stream", error);
}

CudaGpu::Fault CudaGpu::noteFaults(uint32_t beside) {
  const auto found = streams_.find(beside);
  if (found == streams_.end() || found->second.faultWord != 0) return noStream();
  Stream& stream = found->second;
  const Stream& faulty = streams_.at(stream.faults);
  if (!faulty.mayFault) return {};
  stream.mayFault = true;
  return told("a copy",
              driver_->copyDeviceToHost(stream.seen, faulty.faultWord, sizeof *stream.seen, faulty.handle));
}

// Without the lock while it waits: the stream is its caller's.
CudaGpu::Fault CudaGpu::synchronise(uint32_t number, std::unique_lock<std::mutex>& lock) {
  const auto found = streams_.find(number);
  if (found == streams_.end()) return noStream();
  Stream& stream = found->second;
  const bool isBeside = stream.faultWord == 0;
  Stream& faulty = isBeside ? streams_.at(stream.faults) : stream;
  int error = kCudaSuccess;
  if (!isBeside && stream.mayFault)
    error = driver_->copyDeviceToHost(stream.seen, stream.faultWord, sizeof *stream.seen, stream.handle);
  lock.unlock();
  if (error == kCudaSuccess) error = driver_->streamSynchronize(stream.handle);
  lock.lock();
  // Of a stream beside, the other's work may go on.
  const std::vector<const std::string*> launched =
      isBeside ? faulty.launched : std::exchange(stream.launched, {});
  const bool mayFault = std::exchange(stream.mayFault, false);  // beside: faults are noted
  if (error != kCudaSuccess) {
    Fault fault = told(launched.empty() ? "its work" : "kernel " + *launched.back(), error);
    if (launched.size() > 1)
      fault.text += ", in it or one of the " + std::to_string(launched.size() - 1) +
                    " before it (CUDA_LAUNCH_BLOCKING=1 tells which)";
    fault.launch = static_cast<uint32_t>(launched.size());
    if (!lost_.empty()) lost_ = fault.text;
    return fault;
  }
  if (!mayFault || *stream.seen == kNoFault) return {};
  const uint64_t word = *stream.seen;
  Fault fault{DYN_KERNEL_FAULT, "", static_cast<int32_t>(word & 0xffffffff),
              static_cast<uint32_t>(word >> 32)};
  const bool known = fault.launch > 0 && fault.launch <= launched.size();
  fault.text = "kernel " + (known ? *launched[fault.launch - 1] : "") + ": " + kernelFaultText(fault.fault);
  if (!isBeside) (void)driver_->fillBytes(stream.faultWord, 0xff, sizeof word, stream.handle);
  return fault;
}

}  // namespace dyn::vm
