// An element of a value, written in elements of the inputs as far as definitions in loops go, through one
// product at most.
//
//   %bias = mul(sub(1, cast(%mask)), -1e9)     at [b, j]:  (1 - f32(mask[b, j])) * -1e9
#pragma once

#include <unordered_map>

#include "compiler/infer/infer.h"
#include "compiler/loop/builder/lower_context.h"

namespace dyn::passes {

std::unordered_map<ValueId, const Op*> makersIn(const Function& function);
std::unordered_map<ValueId, Type> typesIn(const Function& function);

class ElementComposer {
 public:
  // What it is given outlives it.
  ElementComposer(const InferredModule& inferred, const std::unordered_map<ValueId, const Op*>& madeBy,
                  const std::unordered_map<ValueId, Type>& types)
      : inferred_(inferred), madeBy_(madeBy), types_(types), loops_(inferred.module.context->dims()) {}

  loop::LoopContext& loops() { return loops_; }
  const DimSolver& facts() const { return inferred_.module.context->facts(); }

  Result<loop::Expr> element(ValueId v, std::span<const loop::Expr> index);
  // Whose elements a load of such an expression reads.
  ValueId valueOf(const loop::Buffer* buffer) const;

 private:
  class Step;

  Result<loop::Expr> load(ValueId v, std::span<const loop::Expr> index);

  const InferredModule& inferred_;
  const std::unordered_map<ValueId, const Op*>& madeBy_;
  const std::unordered_map<ValueId, Type>& types_;
  loop::LoopContext loops_;
  std::unordered_map<ValueId, const loop::Buffer*> buffers_;
  int steps_ = 0;
  bool insideProduct_ = false;
};

}  // namespace dyn::passes
