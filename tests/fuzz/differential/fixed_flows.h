// A program run by the VM and by the runtime in fixed memory: bits and kinds of errors must be equal, and
// where a dry run says what a run takes, that is what it takes.
#pragma once

#include "tests/fuzz/differential/comparison.h"

namespace dyn::differential {

// Stands in a list of pipelines for this comparison.
inline constexpr std::string_view kFixed = "fixed";

Comparison compareFixed(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed);

}  // namespace dyn::differential
