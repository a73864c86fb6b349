// The size that sizes which go together are broadcast to.
#pragma once

#include "compiler/dims/dim_solver.h"

namespace dyn {

// max(a, b), but 0 when either is 0: of two sizes that are equal, or of which one is 1. What was broadcast
// before counts as the sizes that it was made of: a result that is broadcast with one of them again stays as
// it is, and a chain of broadcasts has each size once.
Dim broadcastDim(const DimSolver& solver, Dim a, Dim b);

}  // namespace dyn
