// Loops that call a level-batched function for each value of a list: one call of the whole list before the
// loop.
//
//   before  %h = loop(list_length(%trees), _, %trees, %w) body (%i, %trees, %w) {
//             return true, @f(list_at(%trees, %i), %w)
//           }
//   after   %all = @f.nodes(%trees, %w)
//           %h = loop(..., %all) body (%i, ..., %all) { return true, gather(%all, %i) }
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/ir/module.h"

namespace dyn::passes {

struct Forest {
  const Function* function = nullptr;  // of a list
  size_t argument = 0;                 // which argument the list is
};

// The function with such loops changed, or the same pointer. Adds to `count` how many calls that were.
const Function* withForestCalls(IrContext& ir, const Function& function,
                                const std::unordered_map<std::string, Forest>& forests, int64_t& count);

}  // namespace dyn::passes
