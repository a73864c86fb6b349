// The innermost axis of a nest in segments, in each of which what compares its index has one answer.
//
//   for i < n + m vector { y[u, i] = select(i < n, a[u, i], b[u, i - n]) }      becomes
//   for i < n vector { y[u, i] = a[u, i] }   for i < m vector { y[u, n + i] = b[u, i] }
//
// So the middle of what is padded is a plain copy, and a concatenation copies one operand after the other.
#pragma once

#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/kernel.h"

namespace dyn {

struct NestSegment {
  Dim begin, end;                 // of the index; not clipped to the axis, and `end` may lie before `begin`
  std::vector<loop::Expr> roots;  // with what is known there put in
};

// In order, the first from 0 and the last to `extent`; one segment where nothing compares the index, or the
// places where answers change are too many or not in a known order; none where the axis is known to have no
// elements.
std::vector<NestSegment> segmentsOf(const std::vector<loop::Expr>& roots, loop::Expr index, Dim extent,
                                    const DimSolver& facts, loop::LoopContext& loops);

}  // namespace dyn
