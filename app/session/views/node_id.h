// The identity of an operation across the steps of a compilation.
#pragma once

#include <cstdint>

namespace dyn {

// The same operation has the same id at every step that keeps it.
using NodeId = uint64_t;
inline constexpr NodeId kNoNode = UINT64_MAX;

}  // namespace dyn
