// OpSeries: the operations that take the place of one, in the order in which they are made.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

class OpSeries {
 public:
  // They go to the end of `ops` and stand at `place` for messages.
  OpSeries(IrContext& ir, SourceLocation place, std::vector<const Op*>& ops)
      : ir_(ir), place_(std::move(place)), ops_(ops) {}

  // The one result, which is `into` where that is given.
  ValueId emit(const OpDef* def, std::vector<ValueId> operands, Attributes attributes, const Shape& shape,
               Dtype dtype, ValueId into = kNoValue);
  // The sizes as a vector of i64, a constant where all are known.
  ValueId sizes(const Shape& shape);
  // The same elements, as many, in another shape.
  ValueId reshape(ValueId value, const Shape& shape, Dtype dtype, ValueId into = kNoValue);

 private:
  IrContext& ir_;
  SourceLocation place_;
  std::vector<const Op*>& ops_;
};

}  // namespace dyn::passes
