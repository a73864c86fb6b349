#include "compiler/dims/dim_order.h"

#include <utility>

namespace dyn {

Status addLessEqual(DimSolver& solver, Dim a, Dim b, Reason reason) {
  if (const auto low = a.constant()) return solver.addRange(b, low, std::nullopt, std::move(reason));
  if (const auto high = b.constant()) return solver.addRange(a, std::nullopt, high, std::move(reason));
  return solver.addRange(b - a, 0, std::nullopt, std::move(reason));
}

}  // namespace dyn
