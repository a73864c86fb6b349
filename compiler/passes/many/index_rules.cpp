// Elements and slices picked and replaced. Where the data are batched, an instance reads and writes its own:
// its number is one more coordinate.
#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/vectorize_rules.h"

namespace dyn::passes {

namespace {

// The axis at `from` moved to `to`.
ValueId moved(ManyBody& body, ValueId v, int rank, int from, int to) {
  std::vector<int64_t> order;
  for (int axis = 0; axis < rank; ++axis)
    if (axis != from) order.push_back(axis);
  order.insert(order.begin() + to, from);
  return body.make().transposed(v, order);
}

bool gathered(ManyBody& body, const Op& op) {
  OpMaker& make = body.make();
  const ValueId data = op.operands[0], indices = op.operands[1];
  const int rank = body.module().rankOf(data), indexRank = body.module().rankOf(indices);
  const int64_t given = op.attributes.integer("axis", 0);
  const int axis = static_cast<int>(given < 0 ? given + rank : given);
  Attributes attributes = op.attributes;
  if (body.isShared(indices)) {
    attributes.set("axis", int64_t{axis} + 1);
    body.giveAll(op, *op.def, {body.valueOf(data), body.valueOf(indices)}, std::move(attributes));
    return true;
  }
  if (body.isShared(data)) {
    const ValueId x = body.valueOf(data), at = body.valueOf(indices);
    if (axis == 0) {
      body.giveAll(op, *op.def, {x, at}, std::move(attributes));
      return true;
    }
    // [...a, r, ...i, ...b] with the instances in front.
    const ValueId picked = make.make(*op.def, {x, at}, std::move(attributes));
    body.give(op, 0, moved(body, picked, rank + indexRank, axis, 0));
    return true;
  }
  // [r, n, ...] at [r, ...i, 1]: one coordinate for each instance, checked as before.
  const ValueId x = moved(body, body.valueOf(data), rank + 1, axis + 1, 1);
  const ValueId at = make.make(ops::unsqueezeOp, {body.valueOf(indices), make.integers({-1})});
  const Attributes perInstance = {{"batch_dims", int64_t{1}}};
  if (axis == 0) {
    body.giveAll(op, ops::gather_ndOp, {x, at}, perInstance);
    return true;
  }
  // [r, ...i, ...a, ...b]: the axes of the indices belong behind those of a.
  const ValueId picked = make.make(ops::gather_ndOp, {x, at}, perInstance);
  std::vector<int64_t> order{0};
  for (int k = 0; k < axis; ++k) order.push_back(1 + indexRank + k);
  for (int k = 0; k < indexRank; ++k) order.push_back(1 + k);
  for (int k = axis; k < rank - 1; ++k) order.push_back(1 + indexRank + k);
  body.give(op, 0, make.transposed(picked, order));
  return true;
}

bool gatheredByCoordinates(ManyBody& body, const Op& op) {
  const ValueId data = op.operands[0], indices = op.operands[1];
  const int64_t batchDims = op.attributes.integer("batch_dims", 0);
  if (body.isShared(data) && batchDims == 0) {
    body.giveAll(op, *op.def, {body.valueOf(data), body.valueOf(indices)}, op.attributes);
    return true;
  }
  Attributes attributes = op.attributes;
  attributes.set("batch_dims", batchDims + 1);
  const ValueId x = body.batchedOf(data), at = body.batchedOf(indices);
  body.giveAll(op, *op.def, {x, at}, std::move(attributes));
  return true;
}

// Data, indices and updates have one rank; other axes than the named one are walked side by side.
bool elementByElement(ManyBody& body, const Op& op) {
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) operands.push_back(body.batchedOf(v));
  Attributes attributes = op.attributes;
  attributes.set("axis", shifted(op.attributes.integer("axis", 0)));
  body.giveAll(op, *op.def, std::move(operands), std::move(attributes));
  return true;
}

// Rows of coordinates get the number of the instance in front.
bool scattered(ManyBody& body, const Op& op) {
  OpMaker& make = body.make();
  const int indexRank = body.module().rankOf(op.operands[1]);
  const ValueId data = body.batchedOf(op.operands[0]);
  const ValueId at = make.cast(body.batchedOf(op.operands[1]), Dtype::i64);
  const ValueId updates = body.batchedOf(op.operands[2]);
  ValueId number = make.make(ops::rangeOp, {make.integer(0), body.count(), make.integer(1)});
  std::vector<int64_t> axes;
  for (int axis = 0; axis < indexRank; ++axis) axes.push_back(axis + 1);
  number = make.make(ops::unsqueezeOp, {number, make.integers(axes)});
  const ValueId outer = make.make(ops::shapeOp, {at}, {{"end", int64_t{-1}}});
  const ValueId sizes = make.make(ops::concatOp, {outer, make.integers({1})}, {{"axis", int64_t{0}}});
  number = make.make(ops::expandOp, {number, sizes});
  const ValueId places = make.make(ops::concatOp, {number, at}, {{"axis", int64_t{-1}}});
  body.giveAll(op, *op.def, {data, places, updates}, op.attributes);
  return true;
}

}  // namespace

std::vector<VectorizeRow> indexRules() {
  return {
      {&ops::gatherOp, gathered},
      {&ops::gather_ndOp, gatheredByCoordinates},
      {&ops::gather_elementsOp, elementByElement},
      {&ops::scatter_elementsOp, elementByElement},
      {&ops::scatter_ndOp, scattered},
  };
}

}  // namespace dyn::passes
