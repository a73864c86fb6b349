// Time for measuring: monotonic, in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace dyn {

inline int64_t steadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace dyn
