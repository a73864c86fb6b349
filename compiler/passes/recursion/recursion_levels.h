// A recursion over data values (recursion.h) as a function of a list of them, which computes all nodes of a
// height at once.
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/passes/recursion/recursion.h"

namespace dyn::passes {

struct RecursionLevels {
  // (List[T], the other arguments...) -> results with an axis of the list.
  const Function* forest = nullptr;
  // The function itself, of one value: calls the other.
  const Function* single = nullptr;
  int64_t hoisted = 0;  // products that stand before the levels
  std::string whyNot;   // not empty: nothing else is said
};

RecursionLevels levelsOf(const Recursion& recursion, const InferredModule& inferred,
                         const std::unordered_map<ValueId, Type>& types);

}  // namespace dyn::passes
