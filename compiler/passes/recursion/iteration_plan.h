// What of a node's computation is done where: in its level, or for all nodes before the levels.
//
//   %p = matmul(%word, %W)        before: of the node alone, and a product: one product of all nodes
//   %s = tanh(%p)                 in the level, where it is fused with what needs it
//   %g = matmul(%child, %U)       in the level: of nodes below
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/passes/recursion/node_loop.h"

namespace dyn::passes {

struct IterationPlan {
  std::unordered_set<const Op*> level, before;
  std::vector<ValueId> hoisted;  // made before, read in the level; ascending
};

// Of the operations of one iteration (or node). `level`, `before`: values that are wanted there; kNoValue is
// none. `given`: values that a level has without computing them.
IterationPlan planIterations(const std::vector<const Op*>& ops,
                             const std::unordered_map<ValueId, IterationDependence>& dependence,
                             std::vector<ValueId> level, std::vector<ValueId> before,
                             const std::unordered_set<ValueId>& given = {});

}  // namespace dyn::passes
