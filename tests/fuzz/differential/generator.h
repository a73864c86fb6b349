// Random valid programs: elementwise operators, reductions, products, movement of data, sizes that values
// decide, branches, loops, functions and recursion over lists and trees. The same seed gives the same program
// everywhere.
#pragma once

#include <cstdint>

#include "tests/fuzz/differential/program.h"

namespace dyn::differential {

Program generate(uint64_t seed);

// Sizes to run it at: 0, 1, primes, and equal ones for different symbols among them.
std::vector<Sizes> sizesFor(const Program& program, uint64_t seed);

}  // namespace dyn::differential
