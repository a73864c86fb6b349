#include "compiler/passes/recursion/batched_iterations.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

int64_t counted(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

std::vector<int64_t> behindIterations(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) axis = counted(axis, rank) + 1;
  return axes;
}

std::vector<int64_t> countFrom(int64_t first, int64_t count) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(first + i);
  return result;
}

}  // namespace

struct BatchedIterations::Rule {
  const OpDef* def;
  std::string (BatchedIterations::*emit)(const Op&);
};

const BatchedIterations::Rule* BatchedIterations::ruleOf(const Op& op) {
  using B = BatchedIterations;
  static const Rule kRules[] = {
      {&ops::matmulOp, &B::product},       {&ops::gatherOp, &B::gather},
      {&ops::sliceOp, &B::slice},          {&ops::splitOp, &B::alongAxis},
      {&ops::softmaxOp, &B::alongAxis},    {&ops::log_softmaxOp, &B::alongAxis},
      {&ops::layer_normOp, &B::alongAxis}, {&ops::rms_normOp, &B::alongAxis},
      {&ops::concatOp, &B::concat},        {&ops::reduce_sumOp, &B::reduce},
      {&ops::reduce_meanOp, &B::reduce},   {&ops::reduce_maxOp, &B::reduce},
      {&ops::reduce_minOp, &B::reduce},    {&ops::reduce_prodOp, &B::reduce},
      {&ops::reduce_l2Op, &B::reduce},     {&ops::reshapeOp, &B::reshape},
      {&ops::expandOp, &B::expand},        {&ops::squeezeOp, &B::squeeze},
      {&ops::unsqueezeOp, &B::unsqueeze},  {&ops::transposeOp, &B::transpose},
  };
  const auto found = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const Rule& rule) { return rule.def == op.def; });
  return found == std::end(kRules) ? nullptr : found;
}

std::optional<std::vector<int64_t>> BatchedIterations::known(ValueId ofBody) const {
  const auto found = inferred_.contents.find(ofBody);
  if (found == inferred_.contents.end()) return std::nullopt;
  std::vector<int64_t> result;
  for (Dim d : found->second) {
    const std::optional<int64_t> value = d ? d.constant() : std::nullopt;
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

ValueId BatchedIterations::sizes(const Shape& dims) {
  if (count_) {
    Shape all{count_};
    all.insert(all.end(), dims.begin(), dims.end());
    return make(ops::dims_valueOp, {}, {{"value", std::move(all)}});
  }
  const ValueId iterations = make(ops::shapeOp, {iterations_});
  if (dims.empty()) return iterations;
  return make(ops::concatOp, {iterations, make(ops::dims_valueOp, {}, {{"value", dims}})},
              {{"axis", int64_t{0}}});
}

ValueId BatchedIterations::reshaped(ValueId id, const Shape& dims) {
  return make(ops::reshapeOp, {id, sizes(dims)}, {{"allowzero", int64_t{1}}});
}

ValueId BatchedIterations::expanded(ValueId id, const Shape& dims) {
  return make(ops::expandOp, {id, sizes(dims)});
}

ValueId BatchedIterations::manyOf(ValueId ofBody) {
  const Here& value = values_.at(ofBody);
  return value.many ? value.id : expanded(value.id, types_.at(ofBody).dims());
}

ValueId BatchedIterations::aligned(ValueId ofBody, int rank) {
  const Here& value = values_.at(ofBody);
  const int missing = rank - rankOf(ofBody);
  if (!value.many || missing <= 0) return value.id;
  return make(ops::unsqueezeOp, {value.id, integers(countFrom(1, missing))});
}

std::string BatchedIterations::finish(const Op& op, ValueId result) {
  bind(op.results[0].id, result, true);
  return "";
}

std::string BatchedIterations::again(const Op& op, std::vector<ValueId> operands, Attributes attributes) {
  Op copy = op;
  copy.operands = std::move(operands);
  copy.attributes = std::move(attributes);
  for (ValueDef& result : copy.results) {
    const ValueId id = ir_.newValue();
    bind(result.id, id, true);
    result = {id, Type()};
  }
  ops_.push_back(ir_.own(std::move(copy)));
  return "";
}

std::vector<ValueId> BatchedIterations::here(const Op& op) const {
  std::vector<ValueId> result;
  for (ValueId v : op.operands) result.push_back(v == kNoValue ? v : at(v));
  return result;
}

std::string BatchedIterations::emit(const Op& op) {
  setPlace(op.place);
  if (!op.regions.empty()) return "it is control flow";
  const bool many = std::any_of(op.operands.begin(), op.operands.end(),
                                [&](ValueId v) { return v != kNoValue && isMany(v); });
  if (knownSizes(op)) return "";
  if (!many) return sameInAll(op);
  if (op.def->hasEffects) return "it has effects";
  if (op.def->cls == OpClass::elementwise) return elementwise(op);
  const Rule* rule = ruleOf(op);
  return rule ? (this->*rule->emit)(op) : "it is not known for many nodes at once";
}

// Sizes are the same in all iterations.
bool BatchedIterations::knownSizes(const Op& op) {
  if (op.def->traits.contentsKnown || op.def == &ops::constantOp || op.results.size() != 1) return false;
  const auto found = inferred_.contents.find(op.results[0].id);
  if (found == inferred_.contents.end() || !op.results[0].type.isTensor()) return false;
  const Type type = op.results[0].type;
  if (type.dtype() != Dtype::i64 || type.rank() > 1 ||
      !std::all_of(found->second.begin(), found->second.end(), [](Dim d) { return bool(d); }))
    return false;
  const OpDef& def = type.rank() == 0 ? ops::dim_valueOp : ops::dims_valueOp;
  bind(op.results[0].id, make(def, {}, {{"value", Shape(found->second)}}), false);
  return true;
}

std::string BatchedIterations::sameInAll(const Op& op) {
  Op copy = op;
  copy.operands = here(op);
  for (ValueDef& result : copy.results) {
    const ValueId id = ir_.newValue();
    bind(result.id, id, false);
    result = {id, Type()};
  }
  ops_.push_back(ir_.own(std::move(copy)));
  return "";
}

std::string BatchedIterations::elementwise(const Op& op) {
  for (const AttributeSpec& attribute : op.def->attributes)
    if (attribute.name == "axis") return "its axis is not known for many nodes at once";
  if (op.def->traits.channelOperands) return "its channels are not known for many nodes at once";
  int rank = 0;
  for (ValueId v : op.operands)
    if (v != kNoValue) rank = std::max(rank, rankOf(v));
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) operands.push_back(v == kNoValue ? v : aligned(v, rank));
  return again(op, std::move(operands), op.attributes);
}

std::string BatchedIterations::product(const Op& op) {
  const ValueId a = op.operands[0], b = op.operands[1];
  const int rankA = rankOf(a), rankB = rankOf(b);
  const bool transposedA = op.attributes.integer("transpose_a", 0) != 0;
  const auto pair = [&](ValueId x, ValueId y) { return make(ops::matmulOp, {x, y}, op.attributes); };
  if (isMany(a) && !isMany(b)) {
    if (rankB > 2 && rankA < rankB) return "it has a batch of its own";
    // A row of one node: rows of all nodes make one matrix.
    if (rankA == 2 && rankB == 2 && !transposedA && types_.at(a).dims()[0].isConstant(1)) {
      const ValueId rows = make(ops::squeezeOp, {at(a), integers({1})});
      return finish(op, make(ops::unsqueezeOp, {pair(rows, at(b)), integers({1})}));
    }
    return finish(op, pair(at(a), at(b)));
  }
  if (!isMany(a)) {
    if (rankB > 1)
      return rankA > 2 && rankA > rankB ? "it has a batch of its own" : finish(op, pair(at(a), at(b)));
    if (rankA > 2) return "it has a batch of its own";
    const Attributes swapped = rankA == 1 ? Attributes() : Attributes{{"transpose_b", int64_t{!transposedA}}};
    return finish(op, make(ops::matmulOp, {at(b), at(a)}, swapped));
  }
  if (rankA == 1 && rankB == 1) {
    const ValueId terms = make(ops::mulOp, {at(a), at(b)});
    return finish(op, make(ops::reduce_sumOp, {terms, integers({1})}, {{"keepdims", int64_t{0}}}));
  }
  if (rankA == 1 && rankB == 2) {
    const ValueId rows = pair(make(ops::unsqueezeOp, {at(a), integers({1})}), at(b));
    return finish(op, make(ops::squeezeOp, {rows, integers({1})}));
  }
  if (rankA == 2 && rankB == 1) {
    const ValueId columns = pair(at(a), make(ops::unsqueezeOp, {at(b), integers({2})}));
    return finish(op, make(ops::squeezeOp, {columns, integers({2})}));
  }
  if (rankA < 2 || rankB < 2) return "its operands are not known for many nodes at once";
  const int rank = std::max(rankA, rankB);
  return finish(op, pair(aligned(a, rank), aligned(b, rank)));
}

std::string BatchedIterations::gather(const Op& op) {
  const ValueId x = op.operands[0], index = op.operands[1];
  const int64_t axis = counted(op.attributes.integer("axis", 0), rankOf(x));
  if (!isMany(index)) return again(op, here(op), {{"axis", axis + 1}});
  if (!isMany(x)) {
    const ValueId found = make(ops::gatherOp, {at(x), at(index)}, {{"axis", axis}});
    if (axis == 0) return finish(op, found);
    std::vector<int64_t> order = countFrom(0, rankOf(x) + rankOf(index));
    std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
    return finish(op, make(ops::transposeOp, {found}, {{"perm", order}}));
  }
  if (axis != 0) return "both operands differ from node to node";
  const ValueId places = make(ops::unsqueezeOp, {at(index), integers({rankOf(index) + 1})});
  return finish(op, make(ops::gather_ndOp, {at(x), places}, {{"batch_dims", int64_t{1}}}));
}

std::string BatchedIterations::slice(const Op& op) {
  for (size_t i = 1; i < op.operands.size(); ++i)
    if (manyAt(op, i)) return "its bounds differ from node to node";
  std::optional<std::vector<int64_t>> axes;
  const int64_t rank = rankOf(op.operands[0]);
  if (has(op, 3)) {
    axes = known(op.operands[3]);
  } else if (const auto starts = inferred_.contents.find(op.operands[1]);
             starts != inferred_.contents.end()) {
    axes = countFrom(0, static_cast<int64_t>(starts->second.size()));
  }
  if (!axes) return "its axes are not known";
  std::vector<ValueId> operands = here(op);
  operands.resize(std::max<size_t>(operands.size(), 4), kNoValue);
  operands[3] = integers(behindIterations(*axes, rank));
  return again(op, std::move(operands), op.attributes);
}

std::string BatchedIterations::alongAxis(const Op& op) {
  for (size_t i = 1; i < op.operands.size(); ++i)
    if (manyAt(op, i)) return "an operand besides its first differs from node to node";
  const int64_t rank = rankOf(op.operands[0]);
  if (rank == 0) return "it is of a scalar";
  Attributes attributes = op.attributes;
  attributes.set("axis", counted(op.attributes.integer("axis", op.def == &ops::splitOp ? 0 : -1), rank) + 1);
  return again(op, here(op), std::move(attributes));
}

std::string BatchedIterations::concat(const Op& op) {
  Attributes attributes = op.attributes;
  attributes.set("axis", counted(op.attributes.integer("axis", 0), rankOf(op.operands[0])) + 1);
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) operands.push_back(manyOf(v));
  return again(op, std::move(operands), std::move(attributes));
}

std::string BatchedIterations::reduce(const Op& op) {
  const int64_t rank = rankOf(op.operands[0]);
  if (manyAt(op, 1)) return "its axes differ from node to node";
  std::optional<std::vector<int64_t>> axes = has(op, 1) ? known(op.operands[1]) : std::vector<int64_t>();
  if (!axes || rank == 0) return "its axes are not known";
  if (axes->empty() && op.attributes.integer("noop_with_empty_axes", 0) != 0) return "it has no axes";
  if (axes->empty()) axes = countFrom(0, rank);
  return again(op, {at(op.operands[0]), integers(behindIterations(*axes, rank))}, op.attributes);
}

std::string BatchedIterations::reshape(const Op& op) {
  if (manyAt(op, 1)) return "its shape differs from node to node";
  return finish(op, reshaped(at(op.operands[0]), op.results[0].type.dims()));
}

std::string BatchedIterations::expand(const Op& op) {
  if (manyAt(op, 1)) return "its shape differs from node to node";
  const Type type = op.results[0].type;
  return finish(op, expanded(aligned(op.operands[0], type.rank()), type.dims()));
}

std::string BatchedIterations::squeeze(const Op& op) {
  const Type type = types_.at(op.operands[0]);
  if (manyAt(op, 1)) return "its axes differ from node to node";
  std::optional<std::vector<int64_t>> axes = has(op, 1) ? known(op.operands[1]) : std::vector<int64_t>();
  if (!axes) return "its axes are not known";
  if (!has(op, 1))
    for (int i = 0; i < type.rank(); ++i)
      if (type.dims()[static_cast<size_t>(i)].isConstant(1)) axes->push_back(i);
  if (axes->empty()) return finish(op, at(op.operands[0]));
  return again(op, {at(op.operands[0]), integers(behindIterations(*axes, type.rank()))}, op.attributes);
}

std::string BatchedIterations::unsqueeze(const Op& op) {
  if (manyAt(op, 1)) return "its axes differ from node to node";
  const std::optional<std::vector<int64_t>> axes = known(op.operands[1]);
  if (!axes) return "its axes are not known";
  return again(op, {at(op.operands[0]), integers(behindIterations(*axes, op.results[0].type.rank()))},
               op.attributes);
}

std::string BatchedIterations::transpose(const Op& op) {
  const int64_t rank = rankOf(op.operands[0]);
  std::vector<int64_t> order = op.attributes.integers("perm");
  if (order.empty())
    for (int64_t i = rank; i-- > 0;) order.push_back(i);
  order = behindIterations(std::move(order), rank);
  order.insert(order.begin(), 0);
  return again(op, {at(op.operands[0])}, {{"perm", std::move(order)}});
}

}  // namespace dyn::passes
