// A program run by the VM and by the freestanding runtime: bits and kinds of errors must be equal, and
// where a rehearsal says what a run takes, that is what it takes.
#pragma once

#include "tests/fuzz/differential/comparison.h"

namespace dyn::differential {

// Stands in a list of pipelines for this comparison.
inline constexpr std::string_view kFreestanding = "freestanding";

Comparison compareFreestanding(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed);

}  // namespace dyn::differential
