// Loops over the nodes of a tree, or of a graph without cycles: each iteration reads rows of buffers at
// indices that do not depend on the buffers, computes one node, and writes one row of each.
//
//   %h, %c = loop(%n, true, %h0, %c0, %left, %right) body (%i, %h, %c, ...) {
//     %a = gather(%h, gather(%left, %i))  %b = gather(%h, gather(%right, %i))  ...
//     return true, scatter_nd(%h, %i, %hi), scatter_nd(%c, %i, %ci)
//   }
//
// Whether what is read has been written before is a question of the indices, which the run answers.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/infer/infer.h"

namespace dyn::passes {

// What a value of the body depends on.
enum class IterationDependence : uint8_t {
  none,       // the same in all iterations
  iteration,  // on the number of the iteration
  state,      // on rows that other iterations have written
};

struct NodeLoop {
  struct State {
    size_t carried = 0;         // which of the carried values
    ValueId buffer = kNoValue;  // the body's parameter
    const Op* write = nullptr;  // the scatter_nd that ends the iteration
    std::vector<const Op*> reads;
  };
  const Op* loop = nullptr;
  const Function* body = nullptr;
  std::vector<State> states;
  std::vector<size_t> handedOn;                                 // carried values that no iteration changes
  std::unordered_map<ValueId, IterationDependence> dependence;  // of the body's values
  std::unordered_map<ValueId, const Op*> makers;
  std::string whyNot;         // not empty: the reason why not
  bool looksLikeOne = false;  // it writes rows: the reason is worth telling

  // The value of the body that says where the rows are written.
  ValueId writes() const { return states[0].write->operands[1]; }
};

// `types`: of the function's and of the body's values.
NodeLoop findNodeLoop(const Op& loop, const InferredModule& inferred,
                      const std::unordered_map<ValueId, Type>& types,
                      const std::unordered_map<ValueId, const Op*>& makers);

}  // namespace dyn::passes
