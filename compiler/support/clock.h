// Time for measuring: monotonic, in nanoseconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace dyn {

inline int64_t steadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Of an estimate in nanoseconds, which may be any number: the longest time where it is longer or none.
inline int64_t wholeNs(double ns) {
  return ns < 0x1p63 ? static_cast<int64_t>(std::max(ns, -0x1p63)) : INT64_MAX;
}

}  // namespace dyn
