// The sizes that a caller gives where shapes are not read off values: one for each symbol of the inputs'
// shapes, in the order of their first use. An axis that is an expression ("2*seq + 1", "?3") gets a size of
// its own, which the program checks when it runs.
//
//   x: f32[batch, 2*n, 8]  →  sizes batch, x_1 (2*n); axes {size 0, size 1, 8}
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vm/isa/program.h"

namespace dyn::vm {

struct CallSize {
  std::string name;                                 // a symbol, or INPUT_AXIS
  std::string expression;                           // of an axis with a size of its own
  int64_t low = 0, high = INT64_MAX, multiple = 1;  // declared
};

struct CallAxis {
  int64_t value = -1;  // >= 0: constant
  size_t size = 0;     // else which of the sizes
};

struct CallSizes {
  std::vector<CallSize> sizes;
  std::vector<std::vector<CallAxis>> inputs;  // by axis; empty for what is no tensor
};

CallSizes callSizes(std::span<const ContractValue> inputs);

}  // namespace dyn::vm
