// Views that move positions and bring them back: what exporters write for a shift along a diagonal.
//
//   %r = reshape(%c)          [b, h, s, 2*s] -> [b, h, 2*s, s]
//   %t = slice(%r, from 1)    [b, h, 2*s - 1, s]
//   %u = reshape(%t)          [b, h, s, 2*s - 1]
//   %v = slice(%u, up to s)   [b, h, s, s]       %v[b, h, i, j] is %c[b, h, i, s - i + j]
//
// A view of memory has an element at offset + sum(index * stride). Where the strides of the base's outer axes
// are taken off the view's first strides, what is left says how far an index leads beyond its own row of the
// base: it stays there if that is never below 0, and never as much as the row.
#pragma once

#include <optional>

#include "compiler/infer/infer.h"

namespace dyn::passes {

struct MovedView {
  Shape base;          // what is viewed, dense
  Shape dims;          // of the view
  StridedPlace place;  // of the view in it
};

// The first view: `op` of its operand, which is dense. Nullopt: it is not one.
std::optional<MovedView> viewOf(const InferredModule& inferred, const Op& op, Type operand);
// And of a view.
std::optional<MovedView> viewOf(const InferredModule& inferred, const Op& op, const MovedView& view);

// Are the first `count` indices of an element of the view those of the element of the base?
bool keepsFirstIndices(const DimSolver& facts, const MovedView& view, size_t count);

}  // namespace dyn::passes
