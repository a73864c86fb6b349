// Bounds of an integer expression of loops, by intervals: dims as far as the solver knows them, variables
// from 0 to below their extents. Nullopt on a side: nothing is known there.
#pragma once

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/expr.h"

namespace dyn::passes {

Interval boundsOf(loop::Expr e, const DimSolver& facts);

// The same expression with comparisons of integers decided by bounds where these tell.
loop::Expr decided(loop::Expr e, const DimSolver& facts);

}  // namespace dyn::passes
