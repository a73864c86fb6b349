// Scratch memory of hosted rows, which take it from the pool. Flat ones have that of their call (work.h).
#pragma once

#include "vm/base/status.h"
#include "vm/core/object/memory_pool.h"

namespace dyn::vm::kernels {

// `elements` of four bytes for the time of a call.
class PoolScratch {
 public:
  PoolScratch(MemoryPool* pool, int64_t elements)
      : pool_(pool),
        data_(static_cast<float*>(
            pool->allocate(static_cast<uint64_t>(elements) * sizeof(float), why_, MemoryUse::data))) {}
  ~PoolScratch() { pool_->deallocate(data_); }
  PoolScratch(const PoolScratch&) = delete;
  explicit operator bool() const { return data_ != nullptr; }
  Status status() const { return data_ ? okStatus() : failure(why_, "no scratch memory"); }
  float* data() const { return data_; }

 private:
  dyn_status why_ = DYN_OK;
  MemoryPool* pool_;
  float* data_;
};

}  // namespace dyn::vm::kernels
