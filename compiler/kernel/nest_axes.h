// Axes of a nest before its loops are made: fewer and longer ones, without wrapping.
//
//   y[i] = x[mod(i, m)]  over i < 3*m     becomes   y[q, e] = x[e]                 over q < 3, e < m        (split)
//   y[i, j, k] = x[j, i, k]  over n, m, c  stays;    y[i, j, k] = x[i, 2, j, k]     over j and k as one axis (merged)
//   y[i, j] = exp(x[i, j])                 becomes   y[i] = exp(x[i])               over all elements        (flat)
//
// A division per element costs more than the copy of it, and what an iteration of an outer loop costs is paid
// by each of a short inner one's elements.
#pragma once

#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/kernel.h"

namespace dyn {

// Outputs all have the shape `space`; `roots` are their elements at `index`.
struct NestAxes {
  Shape space;
  std::vector<loop::Expr> index;
  std::vector<loop::Expr> roots;
  std::vector<const loop::Buffer*> inputs;  // views of the same memory take the place of what was there
};

// Every axis of which all wraps (mod and floorDiv of it) are by one divisor of its size, or multiples of
// that, becomes two, the divisor's the inner one.
void splitWrappedAxes(NestAxes& axes, const DimSolver& facts, loop::LoopContext& loops);

// Neighbouring axes that every access walks side by side, with provably equal inner sizes, become one.
void mergeAxes(NestAxes& axes, const DimSolver& facts, loop::LoopContext& loops);

}  // namespace dyn
