// An order between two dims, as a fact.
#pragma once

#include "compiler/dims/dim_solver.h"

namespace dyn {

// a <= b: a range of one of them beside a constant, else of their difference. Errors as of addRange().
Status addLessEqual(DimSolver& solver, Dim a, Dim b, Reason reason);

}  // namespace dyn
