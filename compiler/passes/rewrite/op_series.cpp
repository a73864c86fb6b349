#include "compiler/passes/rewrite/op_series.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/op_maker.h"

namespace dyn::passes {

ValueId OpSeries::emit(const OpDef* def, std::vector<ValueId> operands, Attributes attributes,
                       const Shape& shape, Dtype dtype, ValueId into) {
  return appendOp(ir_, ops_, place_, *def, std::move(operands), std::move(attributes),
                  ir_.tensorType(shape, dtype), into);
}

ValueId OpSeries::sizes(const Shape& shape) {
  Attributes attributes;
  const Shape length{ir_.dims().constant(static_cast<int64_t>(shape.size()))};
  const bool constant = std::all_of(shape.begin(), shape.end(), [](Dim d) { return d.isConstant(); });
  if (!constant) {
    attributes.set("value", shape);
    return emit(&ops::dims_valueOp, {}, std::move(attributes), length, Dtype::i64);
  }
  std::vector<int64_t> numbers;
  for (Dim d : shape) numbers.push_back(*d.constant());
  attributes.set("value", HostTensor::vectorInt(Dtype::i64, numbers));
  return emit(&ops::constantOp, {}, std::move(attributes), length, Dtype::i64);
}

ValueId OpSeries::reshape(ValueId value, const Shape& shape, Dtype dtype, ValueId into) {
  Attributes exact;
  exact.set("allowzero", int64_t{1});
  return emit(&ops::reshapeOp, {value, sizes(shape)}, std::move(exact), shape, dtype, into);
}

}  // namespace dyn::passes
