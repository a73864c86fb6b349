// A lock for a few instructions: taking it when it is free costs one exchange, giving it back one store. In a
// process of one thread it costs a store, too: an exchange is dearer than all that a pool does under it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define DYN_KNOWS_SINGLE_THREADED 1
#endif
#endif

namespace dyn::vm {

class SpinLock {
 public:
  void lock() {
    // A thread that is started while the lock is held finds it taken.
    if (alone()) return taken_.store(true, std::memory_order_relaxed);
    for (uint32_t turns = 0; taken_.exchange(true, std::memory_order_acquire);)
      while (taken_.load(std::memory_order_relaxed))
        if (++turns % 256 == 0) std::this_thread::yield();  // whoever has it may wait for this core
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  static bool alone() {
#ifdef DYN_KNOWS_SINGLE_THREADED
    return __libc_single_threaded;
#else
    return false;
#endif
  }
  std::atomic<bool> taken_{false};
};

}  // namespace dyn::vm
