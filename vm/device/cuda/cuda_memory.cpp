#include "vm/device/cuda/cuda_memory.h"

#include <limits>

namespace dyn::vm {
namespace {

constexpr uint64_t kMemoryUnit = 512;  // of sizes: sizes that differ little share their blocks
// A kept block serves requests of half its size and more.
constexpr uint64_t kMostTimes = 2;

}  // namespace

int CudaMemory::allocate(uint32_t stream, uint64_t bytes, CudaAddress& memory) {
  if (bytes > std::numeric_limits<uint64_t>::max() / 4) return kCudaOutOfMemory;
  uint64_t size = (bytes + kMemoryUnit - 1) / kMemoryUnit * kMemoryUnit;
  Kept& kept = kept_[stream];
  if (const auto found = kept.lower_bound({size, 0});
      found != kept.end() && found->first <= size * kMostTimes) {
    size = found->first;
    memory = found->second;
    kept.erase(found);
    keptBytes_ -= size;
  } else {
    int error = fromDriver(size, memory);
    if (error == kCudaOutOfMemory && keptBytes_ > 0) {
      giveBackKept();
      error = fromDriver(size, memory);
    }
    if (error != kCudaSuccess) return error;
  }
  blocks_[memory] = {bytes, size};
  return kCudaSuccess;
}

int CudaMemory::fromDriver(uint64_t size, CudaAddress& memory) {
  return driver_.memoryAllocate(&memory, size);
}

// The driver frees what work may still use only when that is done.
void CudaMemory::giveBackKept() {
  for (auto& [stream, kept] : kept_)
    for (const auto& [size, address] : kept) (void)driver_.memoryFree(address);
  kept_.clear();
  keptBytes_ = 0;
}

bool CudaMemory::deallocate(uint32_t stream, CudaAddress memory) {
  const auto found = blocks_.find(memory);
  if (found == blocks_.end()) return false;
  kept_[stream].emplace(found->second.size, memory);
  keptBytes_ += found->second.size;
  blocks_.erase(found);
  return true;
}

bool CudaMemory::holds(const void* address, uint64_t bytes) const {
  const auto at = static_cast<CudaAddress>(reinterpret_cast<uintptr_t>(address));
  auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) return false;
  const auto& [begin, block] = *--after;
  return at - begin <= block.asked && bytes <= block.asked - (at - begin);
}

void CudaMemory::endStream(uint32_t stream) {
  const auto found = kept_.find(stream);
  if (stream == 0 || found == kept_.end()) return;
  kept_[0].merge(found->second);
  kept_.erase(stream);
}

}  // namespace dyn::vm
