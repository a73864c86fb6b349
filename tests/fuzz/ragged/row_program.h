// Random programs over ragged tensors, as text: elementwise operations, products, norms, sums over positions,
// concatenation, attention, also to sequences of other lengths, its scores as results, convolutions, pools,
// recurrences and what runs for each sequence by itself, over one or two patterns of lengths. The same seed
// gives the same program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace dyn::ragged {

std::string rowProgramOf(uint64_t seed);

// Lengths of 0 and 1 are among them, and batches of nothing.
std::vector<std::vector<HostTensor>> rowInputsFor(uint64_t seed);

}  // namespace dyn::ragged
