#include "compiler/dims/solver_work.h"

#include <new>

#include <utility>

#include "compiler/dims/dim_node.h"

namespace dyn {

uint64_t solverSteps(const DimContext& context) {
  return DimBuilder::impl(const_cast<DimContext&>(context)).solverSteps;
}

DearestWork takeDearest(DimContext& context) {
  return std::exchange(DimBuilder::impl(context).dearest, DearestWork{});
}

SolverWorkScope::SolverWorkScope(DimContext& context, std::function<std::string()> asker)
    : context_(context), asker_(std::move(asker)), before_(solverSteps(context)) {}

SolverWorkScope::~SolverWorkScope() {
  const uint64_t steps = solverSteps(context_) - before_;
  DearestWork& dearest = DimBuilder::impl(context_).dearest;
  if (steps <= dearest.steps) return;
  try {
    dearest = {steps, asker_()};
  } catch (const std::bad_alloc&) {
    dearest.steps = steps;  // without a name: a statistic must not end the work it counts
  }
}

}  // namespace dyn
