// A program's host program run as machine code and as bytecode: bits, errors, memory and launches must be
// equal.
#pragma once

#include "tests/fuzz/differential/comparison.h"

namespace dyn::differential {

// Stands in a list of pipelines for this comparison.
inline constexpr std::string_view kFlows = "flow";

Comparison compareFlows(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed);

}  // namespace dyn::differential
