// Operators with an axis: it stands one further back.
#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/vectorize_rules.h"

namespace dyn::passes {

namespace {

std::vector<ValueId> firstBatched(ManyBody& body, const Op& op) {
  std::vector<ValueId> operands{body.batchedOf(op.operands[0])};
  for (size_t i = 1; i < op.operands.size(); ++i)
    operands.push_back(op.operands[i] == kNoValue ? kNoValue : body.valueOf(op.operands[i]));
  return operands;
}

Attributes withAxis(const Op& op, int64_t otherwise) {
  Attributes attributes = op.attributes;
  attributes.set("axis", shifted(op.attributes.integer("axis", otherwise)));
  return attributes;
}

// The attribute `axis` of the first operand; `otherwise` where it is left out.
template <int64_t otherwise>
bool alongAxis(ManyBody& body, const Op& op) {
  if (!body.othersAreShared(op)) return false;
  body.giveAll(op, *op.def, firstBatched(body, op), withAxis(op, otherwise));
  return true;
}

// All operands have the axis.
bool concatenated(ManyBody& body, const Op& op) {
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) operands.push_back(body.batchedOf(v));
  body.giveAll(op, *op.def, std::move(operands), withAxis(op, 0));
  return true;
}

// Scales and zero points may be vectors along the axis; a batched one would be a scale for each instance.
bool quantised(ManyBody& body, const Op& op) {
  if (!body.othersAreShared(op)) return false;
  const bool alongAxis = body.module().rankOf(op.operands[1]) > 0;
  body.giveAll(op, *op.def, firstBatched(body, op), alongAxis ? withAxis(op, 1) : op.attributes);
  return true;
}

// Axes as an operand: constants, one further back; none are all of the instance's own.
bool reduction(ManyBody& body, const Op& op) {
  const ValueId x = op.operands[0];
  const int64_t rank = body.module().rankOf(x);
  const bool given = op.operands.size() > 1 && op.operands[1] != kNoValue;
  std::vector<int64_t> axes;
  if (given) {
    const auto known = body.module().constantsOf(op.operands[1]);
    if (!known) return false;
    axes = *known;
  }
  if (axes.empty() && op.attributes.integer("noop_with_empty_axes") == 0)
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  // Of no axis nothing is folded, but some operators change the element.
  const ValueId value = body.batchedOf(x);
  Attributes attributes = op.attributes;
  if (axes.empty()) attributes.set("noop_with_empty_axes", int64_t{1});
  for (int64_t& axis : axes) axis = shifted(axis);
  const ValueId places =
      axes.empty() ? body.make().number(*HostTensor::create(Dtype::i64, {0})) : body.make().integers(axes);
  body.giveAll(op, *op.def, {value, places}, std::move(attributes));
  return true;
}

// Running sums: the axis is one number.
bool running(ManyBody& body, const Op& op) {
  const auto axis = body.module().constantsOf(op.operands[1]);
  if (!axis || axis->size() != 1) return false;
  const ValueId x = body.batchedOf(op.operands[0]);
  body.giveAll(op, *op.def, {x, body.make().integer(shifted(axis->front()))}, op.attributes);
  return true;
}

// Axes before those that it is about are a batch already.
bool ofLastAxes(ManyBody& body, const Op& op) {
  if (!body.othersAreShared(op)) return false;
  body.giveAll(op, *op.def, firstBatched(body, op), op.attributes);
  return true;
}

}  // namespace

std::vector<VectorizeRow> axisRules() {
  return {
      {&ops::softmaxOp, alongAxis<-1>},
      {&ops::log_softmaxOp, alongAxis<-1>},
      {&ops::hardmaxOp, alongAxis<-1>},
      {&ops::lp_normalizationOp, alongAxis<-1>},
      {&ops::layer_normOp, alongAxis<-1>},
      {&ops::rms_normOp, alongAxis<-1>},
      {&ops::topkOp, alongAxis<-1>},
      {&ops::argmaxOp, alongAxis<0>},
      {&ops::argminOp, alongAxis<0>},
      {&ops::splitOp, alongAxis<0>},
      {&ops::one_hotOp, alongAxis<-1>},  // of the result, which has one axis more
      {&ops::concatOp, concatenated},
      {&ops::quantize_linearOp, quantised},
      {&ops::dequantize_linearOp, quantised},
      {&ops::reduce_sumOp, reduction},
      {&ops::reduce_prodOp, reduction},
      {&ops::reduce_meanOp, reduction},
      {&ops::reduce_maxOp, reduction},
      {&ops::reduce_minOp, reduction},
      {&ops::reduce_l1Op, reduction},
      {&ops::reduce_l2Op, reduction},
      {&ops::reduce_log_sumOp, reduction},
      {&ops::reduce_log_sum_expOp, reduction},
      {&ops::reduce_sum_squareOp, reduction},
      {&ops::cumsumOp, running},
      {&ops::cumprodOp, running},
      {&ops::triluOp, ofLastAxes},
      {&ops::lookupOp, ofLastAxes},
      {&ops::matmul_nbitsOp, ofLastAxes},
      {&ops::clipOp, ofLastAxes},  // its bounds are one number for all elements
  };
}

}  // namespace dyn::passes
