// CudaGpu: events, and the time between two of them.
#include "vm/device/cuda/cuda_gpu.h"

namespace dyn::vm {

CudaGpu::Fault CudaGpu::createEvent(uint32_t& event, Timing timing) {
  CudaEvent handle = nullptr;
  const int error =
      driver_->eventCreate(&handle, timing == Timing::on ? kCudaEventDefault : kCudaEventDisableTiming);
  if (error == kCudaSuccess) events_[event = ++lastEvent_] = handle;
  return told("an event", error);
}

CudaGpu::Fault CudaGpu::destroyEvent(uint32_t event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return {};
  const int error = driver_->eventDestroy(found->second);
  events_.erase(found);
  return told("an event", error);
}

CudaGpu::Fault CudaGpu::putEvent(bool records, uint32_t stream, uint32_t event) {
  const auto found = events_.find(event);
  const auto queue = streams_.find(stream);
  if (found == events_.end()) return noEvent();
  if (queue == streams_.end()) return noStream();
  return told("an event", records ? driver_->eventRecord(found->second, queue->second.handle)
                                  : driver_->streamWaitEvent(queue->second.handle, found->second, 0));
}

CudaGpu::Fault CudaGpu::query(uint32_t event, int32_t& done) {
  const auto found = events_.find(event);
  if (found == events_.end()) return noEvent();
  const int error = driver_->eventQuery(found->second);
  done = error == kCudaSuccess;
  return error == kCudaNotReady ? Fault{} : told("an event", error);
}

CudaGpu::Fault CudaGpu::elapsed(uint32_t from, uint32_t to, int64_t& ns) {
  const auto first = events_.find(from), last = events_.find(to);
  if (first == events_.end() || last == events_.end()) return noEvent();
  float milliseconds = 0;
  const int error = driver_->eventElapsedTime(&milliseconds, first->second, last->second);
  ns = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  return told("the time of an event", error);
}

}  // namespace dyn::vm
