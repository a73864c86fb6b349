// CudaGpu: launches that are captured and put into a stream as one graph.
#include <utility>

#include "vm/device/cuda/cuda_gpu.h"

namespace dyn::vm {

CudaGpu::Fault CudaGpu::beginGraph(uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return noStream();
  const int error = driver_->beginCapture(found->second.handle, kCudaCaptureThreadLocal);
  found->second.captures = error == kCudaSuccess;
  return told("a graph", error);
}

CudaGpu::Fault CudaGpu::endGraph(uint32_t stream, uint64_t& graph) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || !found->second.captures) return noStream();
  Stream& queue = found->second;
  queue.captures = false;
  Graph made{nullptr, std::exchange(queue.captured, {}), queue.mayFault};
  CudaGraph recorded = nullptr;
  int error = driver_->endCapture(queue.handle, &recorded);
  if (error == kCudaSuccess) error = driver_->graphInstantiate(&made.executable, recorded, 0);
  if (recorded) (void)driver_->graphDestroy(recorded);
  if (error != kCudaSuccess) return told("a graph", error);
  graphs_[graph = ++lastGraph_] = std::move(made);
  return {};
}

CudaGpu::Fault CudaGpu::launchGraph(uint32_t stream, uint64_t graph) {
  const auto found = streams_.find(stream);
  const auto known = graphs_.find(graph);
  if (found == streams_.end()) return noStream();
  if (known == graphs_.end()) return {DYN_INVALID_ARGUMENT, "a graph that is not there"};
  Stream& queue = found->second;
  const Graph& made = known->second;
  queue.launched.insert(queue.launched.end(), made.kernels.begin(), made.kernels.end());
  queue.mayFault |= made.mayFault;
  return told("a graph", driver_->graphLaunch(made.executable, queue.handle));
}

CudaGpu::Fault CudaGpu::destroyGraph(uint64_t graph) {
  const auto known = graphs_.find(graph);
  if (known == graphs_.end()) return {};
  const int error = driver_->graphExecDestroy(known->second.executable);
  graphs_.erase(known);
  return told("a graph", error);
}

}  // namespace dyn::vm
