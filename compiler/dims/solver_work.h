// What the solvers over a context have done, in steps, and for whom: a pass tells it, and which operation
// asked for most.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/dims/dim.h"

namespace dyn {

// The most expensive of the scopes that ended since takeDearest() was called last.
struct DearestWork {
  uint64_t steps = 0;
  std::string asker;  // empty: no scope asked anything
};

// Steps of all solvers over this context, facts and questions, since it was made.
uint64_t solverSteps(const DimContext& context);
DearestWork takeDearest(DimContext& context);

// The work that is done while it lives is `asker`'s: called at most once, when it was the most so far.
class SolverWorkScope {
 public:
  SolverWorkScope(DimContext& context, std::function<std::string()> asker);
  ~SolverWorkScope();
  SolverWorkScope(const SolverWorkScope&) = delete;
  SolverWorkScope& operator=(const SolverWorkScope&) = delete;

 private:
  DimContext& context_;
  std::function<std::string()> asker_;
  uint64_t before_;
};

}  // namespace dyn
