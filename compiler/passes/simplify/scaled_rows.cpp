#include "compiler/passes/simplify/scaled_rows.h"

#include <cmath>
#include <utility>

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/op_series.h"

namespace dyn::passes {

namespace {

ValueId constant(IrContext& ir, HostTensor value, Type type, const SourceLocation& place,
                 std::vector<const Op*>& ops) {
  Op op;
  op.def = &ops::constantOp;
  op.attributes.set("value", std::move(value));
  op.results = {{ir.newValue(), type}};
  op.place = place;
  ops.push_back(ir.own(std::move(op)));
  return ops.back()->results[0].id;
}

}  // namespace

const Op* scaledRows(const Op& norm, IrContext& ir, const std::unordered_map<ValueId, const Op*>& definitions,
                     std::vector<const Op*>& ops) {
  const Type type = norm.results[0].type;
  if (norm.def != &ops::batch_normOp || type.rank() != 2 || storageBytes(type.dtype()) < 4) return nullptr;
  const HostTensor* given[4] = {};  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    const auto made = definitions.find(norm.operands[i + 1]);
    if (made == definitions.end() || made->second->def != &ops::constantOp) return nullptr;
    given[i] = made->second->attributes.tensor("value");
    if (given[i]->rank() != 1 || given[i]->elementCount() != given[0]->elementCount()) return nullptr;
  }
  const int64_t channels = given[0]->elementCount();
  Result<HostTensor> factor = HostTensor::create(type.dtype(), {channels}),
                     rest = HostTensor::create(type.dtype(), {channels});
  if (!factor.ok() || !rest.ok()) return nullptr;
  const double epsilon = norm.attributes.real("epsilon", 1e-5);
  for (int64_t i = 0; i < channels; ++i) {
    const double scaled = given[0]->realAt(i) / std::sqrt(given[3]->realAt(i) + epsilon);
    factor->setReal(i, scaled);
    rest->setReal(i, given[1]->realAt(i) - given[2]->realAt(i) * scaled);
  }
  const Type parameter = ir.tensorType(Shape{ir.dims().constant(channels)}, type.dtype());
  const ValueId f = constant(ir, std::move(*factor), parameter, norm.place, ops),
                g = constant(ir, std::move(*rest), parameter, norm.place, ops);
  OpSeries series(ir, norm.place, ops);
  const ValueId product = series.emit(&ops::mulOp, {norm.operands[0], f}, {}, type.dims(), type.dtype());
  Op sum;
  sum.def = &ops::addOp;
  sum.operands = {product, g};
  sum.results = norm.results;
  sum.place = norm.place;
  return ir.own(std::move(sum));
}

}  // namespace dyn::passes
