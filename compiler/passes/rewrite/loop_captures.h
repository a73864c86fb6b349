// Values of the outer function that the body of a loop in the making reads: each becomes a parameter of the
// body, in the order in which they are first asked for.
//
//   const ValueId inside = captures.of(outer);     // as the body calls it
//   captures.addTo(body, loop);                    // behind what the loop carries
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

class LoopCaptures {
 public:
  explicit LoopCaptures(IrContext& ir) : ir_(ir) {}

  ValueId of(ValueId outer) {
    const auto [found, fresh] = inside_.try_emplace(outer, kNoValue);
    if (fresh) {
      found->second = ir_.newValue();
      order_.push_back(outer);
    }
    return found->second;
  }

  void addTo(Function& body, Op& loop) const {
    for (ValueId outer : order_) {
      body.parameters.push_back({inside_.at(outer), Type()});
      loop.operands.push_back(outer);
    }
  }

 private:
  IrContext& ir_;
  std::unordered_map<ValueId, ValueId> inside_;
  std::vector<ValueId> order_;
};

}  // namespace dyn::passes
