// One long reduction for few elements, in two nests: parts of a fixed length first, which threads share, then
// the parts.
//
//   y[i] = f(sum(k < m) e(i, k))     becomes     p[b, i] = sum(k < min(L, m - b * L)) e(i, b * L + k)   and   y[i] = f(sum(b < ceil(m / L)) p[b, i])
//
// Needs a nest of one result in which there is one reduction, over one variable, that is no part of another
// and depends on every axis longer than 1. The parts' length is fixed, so bits depend on the sizes alone,
// never on the threads. It pays where the reduction is long and elements are few.
#pragma once

#include <optional>

#include "compiler/kernel/loop_nest.h"

namespace dyn {

inline constexpr int64_t kPartLength = 1 << 14;
inline constexpr int64_t kLongReduction = 2 * kPartLength;  // longer ones are split
inline constexpr int64_t kFewElements = 64;                 // as long as there are no more than this

struct SplitReduction {
  LoopNest parts, whole;  // `whole` reads the parts as the last of its inputs
  Dim length, elements;   // of the reduction; of the result
  Shape partsShape;
  Dtype partsDtype = Dtype::f32;
};

std::optional<SplitReduction> splitReduction(const LoopNest& nest);

}  // namespace dyn
