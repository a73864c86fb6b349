// What would make two dims equal: guards, and the shapes for which they are not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

struct Guards {
  std::string cheapest;  // "k == n": the fewest operations of those found; may be stronger than needed
  std::string weakest;   // holds exactly when the two are equal, as written from their difference
};
// Of two dims that are neither provably equal nor provably different.
Guards guardsFor(const DimSolver& solver, Dim a, Dim b);

// A solver that knows all facts but those.
std::unique_ptr<DimSolver> solverWithout(const DimSolver& solver,
                                         const std::function<bool(const Fact&)>& leftOut);

// "x: [2, 3]" for each tensor input of @main, when the symbols have these values; the other symbols take the least value that the facts allow.
std::vector<std::string> inputShapes(const Module& module,
                                     const std::vector<std::pair<std::string, ValueId>>& ports,
                                     const DimSolver& solver,
                                     const std::vector<std::pair<SymbolId, int64_t>>& values);

}  // namespace dyn
