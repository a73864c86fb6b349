// Sizes, other shapes of the same elements, and parts of them.
#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/vectorize_rules.h"

namespace dyn::passes {

namespace {

bool isGiven(const Op& op, size_t i) { return i < op.operands.size() && op.operands[i] != kNoValue; }

// The axes of operand `i`, one further back; where it is left out, the first `count` axes.
std::optional<std::vector<int64_t>> axesBehind(ManyBody& body, const Op& op, size_t i, int64_t count) {
  std::vector<int64_t> axes;
  if (isGiven(op, i)) {
    const auto known = body.module().constantsOf(op.operands[i]);
    if (!known) return std::nullopt;
    axes = *known;
  } else {
    for (int64_t axis = 0; axis < count; ++axis) axes.push_back(axis);
  }
  for (int64_t& axis : axes) axis = shifted(axis);
  return axes;
}

// How many elements a vector of sizes or places has.
std::optional<int64_t> lengthOf(ManyBody& body, ValueId v) {
  const Type type = body.module().typeOf(v);
  return type.rank() == 1 ? type.dims()[0].constant() : std::nullopt;
}

ValueId inOneVector(ManyBody& body, std::vector<ValueId> parts) {
  return body.make().make(ops::concatOp, std::move(parts), {{"axis", int64_t{0}}});
}

// The sizes of an instance: all of the shape but the first, the same for all.
bool sizesOf(ManyBody& body, const Op& op) {
  const int64_t rank = body.module().rankOf(op.operands[0]);
  const int64_t start = op.attributes.integer("start", 0);
  if (start < -rank) return false;
  Attributes attributes = op.attributes;
  attributes.set("start", shifted(start));
  if (op.attributes.has("end")) {
    const int64_t end = op.attributes.integer("end");
    if (end < -rank) return false;
    attributes.set("end", shifted(end));
  }
  body.giveShared(op, 0, body.make().make(*op.def, {body.valueOf(op.operands[0])}, std::move(attributes)));
  return true;
}

bool elementsOfMany(ManyBody& body, const Op& op) {
  OpMaker& make = body.make();
  const ValueId sizes = make.make(ops::shapeOp, {body.valueOf(op.operands[0])}, {{"start", int64_t{1}}});
  body.giveShared(op, 0, make.make(ops::reduce_prodOp, {sizes}, {{"keepdims", int64_t{0}}}));
  return true;
}

// Made from the sizes alone: those of the first instance.
bool ofFirstInstance(ManyBody& body, const Op& op) {
  OpMaker& make = body.make();
  const ValueId first = make.gather(body.valueOf(op.operands[0]), make.integer(0), 0);
  body.giveShared(op, 0, make.make(*op.def, {first}, op.attributes));
  return true;
}

// A 0 in the shape copies the size at its place: both have one more before it.
bool reshaped(ManyBody& body, const Op& op) {
  if (!body.isShared(op.operands[1])) return false;
  const ValueId x = body.valueOf(op.operands[0]);
  const ValueId sizes =
      inOneVector(body, {body.countVector(), body.make().cast(body.valueOf(op.operands[1]), Dtype::i64)});
  body.giveAll(op, *op.def, {x, sizes}, body.module().attributesOf(op));
  return true;
}

bool expanded(ManyBody& body, const Op& op) {
  if (!body.isShared(op.operands[1])) return false;
  const auto length = lengthOf(body, op.operands[1]);
  if (!length) return false;
  const int64_t own = body.module().rankOf(op.operands[0]), most = std::max(own, *length);
  const ValueId x = body.batchedOf(op.operands[0], static_cast<int>(most));
  const ValueId ones = body.make().integers(std::vector<int64_t>(static_cast<size_t>(most - *length), 1));
  const ValueId shape = body.make().cast(body.valueOf(op.operands[1]), Dtype::i64);
  std::vector<ValueId> sizes{body.countVector()};
  if (most > *length) sizes.push_back(ones);
  sizes.push_back(shape);
  body.giveAll(op, *op.def, {x, inOneVector(body, sizes)}, op.attributes);
  return true;
}

// Axes of size 1 left out or added. Without axes, those of size 1 that have gone.
bool squeezed(ManyBody& body, const Op& op) {
  auto axes = axesBehind(body, op, 1, 0);
  if (!axes) return false;
  if (!isGiven(op, 1)) {
    const Shape& dims = body.module().typeOf(op.operands[0]).dims();
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis].isConstant(1)) axes->push_back(static_cast<int64_t>(axis) + 1);
    const int gone = body.module().rankOf(op.operands[0]) - body.module().rankOf(op.results[0].id);
    if (static_cast<int>(axes->size()) != gone) return false;
  }
  const ValueId x = body.valueOf(op.operands[0]);
  if (axes->empty())
    body.give(op, 0, x);
  else
    body.giveAll(op, *op.def, {x, body.make().integers(*axes)}, op.attributes);
  return true;
}

bool unsqueezed(ManyBody& body, const Op& op) {
  const auto axes = axesBehind(body, op, 1, 0);
  if (!axes) return false;
  const ValueId x = body.valueOf(op.operands[0]);
  body.giveAll(op, *op.def, {x, body.make().integers(*axes)}, op.attributes);
  return true;
}

bool transposedOfMany(ManyBody& body, const Op& op) {
  std::vector<int64_t> order = op.attributes.integers("perm");
  const int64_t rank = body.module().rankOf(op.operands[0]);
  if (!op.attributes.has("perm"))
    for (int64_t axis = rank; axis-- > 0;) order.push_back(axis);
  for (int64_t& axis : order) axis = (axis < 0 ? axis + rank : axis) + 1;
  order.insert(order.begin(), 0);
  Attributes attributes = op.attributes;
  attributes.set("perm", order);
  body.giveAll(op, *op.def, {body.valueOf(op.operands[0])}, std::move(attributes));
  return true;
}

bool slicedOfMany(ManyBody& body, const Op& op) {
  if (!body.othersAreShared(op)) return false;
  const auto count = lengthOf(body, op.operands[1]);
  if (!count) return false;
  const auto axes = axesBehind(body, op, 3, *count);
  if (!axes) return false;
  const ValueId x = body.valueOf(op.operands[0]);
  const ValueId starts = body.valueOf(op.operands[1]), ends = body.valueOf(op.operands[2]);
  const ValueId places =
      body.make().cast(body.make().integers(*axes), body.module().typeOf(op.operands[1]).dtype());
  std::vector<ValueId> operands{x, starts, ends, places};
  if (isGiven(op, 4)) operands.push_back(body.valueOf(op.operands[4]));
  body.giveAll(op, *op.def, std::move(operands), op.attributes);
  return true;
}

bool padded(ManyBody& body, const Op& op) {
  if (!body.othersAreShared(op)) return false;
  const auto axes = axesBehind(body, op, 3, body.module().rankOf(op.operands[0]));
  if (!axes) return false;
  const ValueId x = body.valueOf(op.operands[0]), pads = body.valueOf(op.operands[1]);
  const ValueId value = isGiven(op, 2) ? body.valueOf(op.operands[2]) : kNoValue;
  body.giveAll(op, *op.def, {x, pads, value, body.make().integers(*axes)}, op.attributes);
  return true;
}

bool tiled(ManyBody& body, const Op& op) {
  if (!body.othersAreShared(op)) return false;
  const ValueId x = body.valueOf(op.operands[0]);
  const ValueId own = body.make().cast(body.valueOf(op.operands[1]), Dtype::i64);
  body.giveAll(op, *op.def, {x, inOneVector(body, {body.make().integers({1}), own})}, op.attributes);
  return true;
}

}  // namespace

std::vector<VectorizeRow> shapeRules() {
  return {
      {&ops::shapeOp, sizesOf},
      {&ops::sizeOp, elementsOfMany},
      {&ops::eye_likeOp, ofFirstInstance},
      {&ops::reshapeOp, reshaped},
      {&ops::expandOp, expanded},
      {&ops::squeezeOp, squeezed},
      {&ops::unsqueezeOp, unsqueezed},
      {&ops::transposeOp, transposedOfMany},
      {&ops::sliceOp, slicedOfMany},
      {&ops::padOp, padded},
      {&ops::tileOp, tiled},
  };
}

}  // namespace dyn::passes
