// Lines of the cache that a kernel is about to write, fetched while it still sums.
//
// A store to a line that is not in the first cache reads that line first, and only some sixty stores may
// wait. What runs through memory is fetched by the machine; results that lie apart, or that the second cache
// does not hold, are not.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

inline constexpr int64_t kFarElements = 1 << 18;  // a result of more leaves the second cache

// The first line of each of `count` places, `stride` elements apart.
inline void fetchPlaces(const float* first, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) __builtin_prefetch(first + i * stride, 1);
}

}  // namespace dyn::vm::kernels
