// Threads that models share.
#ifndef DYN_PYTHON_THREAD_POOL_H
#define DYN_PYTHON_THREAD_POOL_H

#include "dynvm.h"
#include "fault.h"

namespace dynpython {

class ThreadPool {
 public:
  explicit ThreadPool(int32_t threads) {
    if (const dyn_status status = dyn_thread_pool_create(threads, &pool_)) throw runFault(status);
  }
  ~ThreadPool() { dyn_thread_pool_release(pool_); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int32_t threads() const { return dyn_thread_pool_thread_count(pool_); }
  dyn_thread_pool* get() const { return pool_; }

 private:
  dyn_thread_pool* pool_ = nullptr;
};

}  // namespace dynpython

#endif
