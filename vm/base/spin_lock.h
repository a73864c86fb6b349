// A lock for a few instructions: taking it when it is free costs one exchange, giving it back one store.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace dyn::vm {

class SpinLock {
 public:
  void lock() {
    for (uint32_t turns = 0; taken_.exchange(true, std::memory_order_acquire);)
      while (taken_.load(std::memory_order_relaxed))
        if (++turns % 256 == 0) std::this_thread::yield();  // whoever has it may wait for this core
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace dyn::vm
