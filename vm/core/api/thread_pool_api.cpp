// The C API of threads that contexts share.
#include "vm/core/api/c_api.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

dyn_status dyn_thread_pool_create(int32_t thread_count, dyn_thread_pool** pool) {
  if (pool) *pool = nullptr;
  return guarded([&]() -> Status {
    if (!pool) return invalid("pool is null");
    if (thread_count < 1 || static_cast<uint32_t>(thread_count) > WorkerSet::kMostWorkers + 1)
      return invalid("thread_count must be 1 to 1024");
    auto made = std::make_unique<dyn_thread_pool>();
    made->workers = std::make_shared<WorkerSet>(static_cast<uint32_t>(thread_count) - 1);
    *pool = made.release();
    return okStatus();
  });
}

void dyn_thread_pool_retain(dyn_thread_pool* pool) {
  if (pool) pool->references.fetch_add(1, std::memory_order_relaxed);
}

void dyn_thread_pool_release(dyn_thread_pool* pool) {
  if (pool && pool->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete pool;
}

int32_t dyn_thread_pool_thread_count(const dyn_thread_pool* pool) {
  return pool ? static_cast<int32_t>(pool->workers->workerCount()) + 1 : 0;
}
