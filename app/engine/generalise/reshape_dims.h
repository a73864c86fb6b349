// The target of a reshape whose numbers are of one example, as formulas of the dims that it reshapes.
//
//   [batch, seq, 768] at batch = 1, seq = 128, to [1, 128, 12, 64]   →   [batch, seq, 12, 64]
//
// Axes are matched from the left, in the smallest groups of equal products; within a group each open factor
// goes to the target that has its size, else to one that it divides.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/dims/dim.h"

namespace dyn {

// The values of dims in one example; nullopt: it has none.
using DimExample = std::function<std::optional<int64_t>(Dim)>;

struct ReshapeDims {
  Shape target;
  int choicesCount = 1;  // so many targets have the same numbers; some may be the same
};

// `second`: the target's numbers in a second example, with the values of dims there; null: there is none.
// `choice`: which of the targets; 0 is the likeliest.
// nullopt: the open dims cannot be found in the target.
struct SecondExample {
  DimExample valueOf;
  std::vector<int64_t> target;
};
// `partsOf`: the dims that an axis was made of, from the outermost; empty where that is not known. It says
// where the elements of each are.
using PartsOfAxis = std::function<Shape(size_t)>;
std::optional<ReshapeDims> reshapeDims(const Shape& from, const std::vector<int64_t>& target,
                                       const DimExample& valueOf, const SecondExample* second, int choice = 0,
                                       const PartsOfAxis& partsOf = {});

}  // namespace dyn
