// The memory of the row "cuda": blocks of the driver, kept when they are freed and given again to the stream
// that freed them, whose order makes that safe. Other streams get them when the driver has no more and all
// work is done. Callers hold a lock.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "vm/device/cuda/driver.h"

namespace dyn::vm {

class CudaMemory {
 public:
  explicit CudaMemory(const CudaDriver& driver) : driver_(driver) {}

  // kCudaSuccess, or what the driver said, after everything kept was given back to it.
  int allocate(uint32_t stream, uint64_t bytes, CudaAddress& memory);
  // False: no block begins there.
  bool deallocate(uint32_t stream, CudaAddress memory);
  // Do all these bytes lie in one block that was allocated?
  bool holds(const void* address, uint64_t bytes) const;
  uint64_t keptBytes() const { return keptBytes_; }
  // What the stream's blocks may be used for again is for stream 0, which the caller has made wait.
  void endStream(uint32_t stream);

 private:
  struct Block {
    uint64_t asked, size;
  };
  int fromDriver(uint64_t size, CudaAddress& memory);
  void giveBackKept();

  const CudaDriver& driver_;
  std::map<CudaAddress, Block> blocks_;
  // By size, then address: who asks for the same sizes in the same order is given the same blocks.
  using Kept = std::set<std::pair<uint64_t, CudaAddress>>;
  std::unordered_map<uint32_t, Kept> kept_;  // by stream
  uint64_t keptBytes_ = 0;
};

}  // namespace dyn::vm
