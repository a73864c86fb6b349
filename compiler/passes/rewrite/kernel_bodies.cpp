#include "compiler/passes/rewrite/kernel_bodies.h"

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

std::unordered_set<const Function*> kernelBodiesOf(const Module& module) {
  std::unordered_set<const Function*> bodies;
  for (const FunctionVisit& visit : functionsOf(module))
    if (visit.owner && (visit.owner->def == &ops::fusedOp || visit.owner->def == &ops::intoOp))
      bodies.insert(visit.function);
  return bodies;
}

}  // namespace dyn
