// Functions that recurse over values of a data type (trees, lists, graphs without cycles), each call being
// on a field of the value at hand, so that what a node's calls are on follows from the structure alone.
//
//   fn @f(%t: Tree, %w: Tensor[(8, 8), f32]) -> (Tensor[(8), f32]) {
//     %h = match(%t, %w) case Leaf(%x, %w) { return tanh(%x) }
//                        case Node(%a, %b, %w) { return tanh((@f(%a, %w) + @f(%b, %w)) @ %w) }
//     return %h
//   }
//
// All other arguments are handed on as they are. What one node makes of its fields and of the results of its
// calls is a list of operations for each constructor, without control flow.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/passes/recursion/node_loop.h"

namespace dyn::passes {

struct Recursion {
  // A node of one constructor. Captures of its body, and results of `match` behind it, are replaced by what
  // they are.
  struct Case {
    const DataConstructor* constructor = nullptr;
    std::vector<ValueId> fields;
    std::vector<const Op*> ops;    // calls among them
    std::vector<ValueId> results;  // of the function
    std::unordered_map<ValueId, IterationDependence> dependence;
    // Of each call: which field it is on.
    std::unordered_map<const Op*, size_t> calls;
  };
  const Function* function = nullptr;
  const DataType* data = nullptr;
  size_t argument = 0;            // the parameter that holds the value
  std::vector<const Op*> shared;  // the same for all nodes
  std::vector<Case> cases;        // as the constructors of the type
  bool callsItself = false;
  std::string whyNot;  // not empty: the reason why not
};

// `types`: of all values of the module.
Recursion findRecursion(const Function& function, const Module& module,
                        const std::unordered_map<ValueId, Type>& types);

}  // namespace dyn::passes
