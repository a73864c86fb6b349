// Monotonic time in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace dyn::vm {

inline uint64_t nowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace dyn::vm
