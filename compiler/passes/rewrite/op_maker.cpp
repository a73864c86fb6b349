#include "compiler/passes/rewrite/op_maker.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

ValueId appendOp(IrContext& ir, std::vector<const Op*>& ops, const SourceLocation& place, const OpDef& def,
                 std::vector<ValueId> operands, Attributes attributes, Type type, ValueId into) {
  Op op;
  op.def = &def;
  op.place = place;
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  const ValueId result = into == kNoValue ? ir.newValue() : into;
  if (type) op.results = {{result, type}};
  ops.push_back(ir.own(std::move(op)));
  return result;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return back;
}

ValueId OpMaker::make(const OpDef& def, std::vector<ValueId> operands, Attributes attributes, ValueId into) {
  Op op;
  op.def = &def;
  op.place = place_;
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  op.results = {{into == kNoValue ? ir_.newValue() : into, Type()}};
  ops_.push_back(ir_.own(std::move(op)));
  return ops_.back()->results[0].id;
}

void OpMaker::check(const OpDef& def, std::vector<ValueId> operands, Attributes attributes) {
  Op op;
  op.def = &def;
  op.place = place_;
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  ops_.push_back(ir_.own(std::move(op)));
}

ValueId OpMaker::number(HostTensor value) { return make(ops::constantOp, {}, {{"value", std::move(value)}}); }
ValueId OpMaker::integer(int64_t value) { return number(HostTensor::scalarInt(Dtype::i64, value)); }
ValueId OpMaker::integers(const std::vector<int64_t>& values) {
  return number(HostTensor::vectorInt(Dtype::i64, values));
}
ValueId OpMaker::size(Dim d) { return make(ops::dim_valueOp, {}, {{"value", Shape{d}}}); }
ValueId OpMaker::sizes(Shape dims) { return make(ops::dims_valueOp, {}, {{"value", std::move(dims)}}); }
ValueId OpMaker::reshape(ValueId v, Shape to, ValueId into) {
  return make(ops::reshapeOp, {v, sizes(std::move(to))}, {{"allowzero", int64_t{1}}}, into);
}
ValueId OpMaker::cast(ValueId v, Dtype to) { return make(ops::castOp, {v}, {{"to", to}}); }
ValueId OpMaker::transposed(ValueId v, const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return v;
  return make(ops::transposeOp, {v}, {{"perm", order}});
}
ValueId OpMaker::gather(ValueId v, ValueId at, int64_t axis) {
  return make(ops::gatherOp, {v, at}, {{"axis", axis}});
}

}  // namespace dyn::passes
