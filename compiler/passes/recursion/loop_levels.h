// A loop over nodes (node_loop.h) as a loop over their levels.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/walk.h"
#include "compiler/passes/recursion/node_loop.h"

namespace dyn::passes {

struct LoopLevels {
  std::vector<const Op*> ops;  // in place of the loop
  ValueMap replaced;           // results of the loop that are other values now
  int64_t hoisted = 0;         // products that stand before it
  std::string whyNot;          // not empty: nothing else is said
};

LoopLevels levelsOf(const NodeLoop& loop, const InferredModule& inferred,
                    const std::unordered_map<ValueId, Type>& types);

}  // namespace dyn::passes
