// From which elements of its operands an operation made some elements of a result.
//
//   y = transpose(x), [2, 1] of y         → [1, 2] of x, moved
//   y = gather(t, i), [4, 0] of y         → one element of t, moved, and the element of i that chose it
//   y = reduce_max(x), [3] of y           → row 3 of x; of one result: the element that is the largest
//   y = matmul(a, b), [i, j] of y         → row i of a, column j of b
//
// Of operators that move elements the answer is not a rule of its own: the operator is evaluated once more,
// on the numbers of its operand's elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/reference/value.h"

namespace dyn {

struct ElementSource {
  size_t operand = 0;
  std::vector<int64_t> elements;  // flat, ascending, without repeats
};

struct ElementSources {
  enum class Kind : uint8_t {
    moved,     // the same elements, at other places
    chosen,    // one of several: by an index, a condition, a largest value
    computed,  // by arithmetic
    whole,     // no rule is known for this operator: all elements of all operands
  } kind = Kind::whole;
  std::vector<ElementSource> sources;
};

// One operation of a run: its operands (those left out are none) and its results. `result` is a tensor, and
// `elements` are places in it.
struct ComputedOp {
  const Module& module;
  const Op& op;
  std::span<const Value> operands, results;
};
ElementSources elementSources(const ComputedOp& made, size_t result, const std::vector<int64_t>& elements);

// "[2,5]" of place 13 in a tensor of shape [3, 4]; "" of a scalar.
std::string placeText(const std::vector<int64_t>& shape, int64_t place);
// The places of an index; negative ones count from the end. Nothing: there is no such element.
std::vector<int64_t> indexOfPlace(const std::vector<int64_t>& shape, int64_t place);

}  // namespace dyn
