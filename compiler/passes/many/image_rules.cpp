// Operators with a batch axis of their own, [n, ...]: the rows of all instances are one batch.
//
//   before  %y = conv(%x, %w)                       %x (n, c, h, w)
//   after   %y = reshape(conv(reshape(%x, (r*n, c, h, w)), %w), (r, n, ...))
#include "compiler/ops/op_table.h"
#include "compiler/passes/many/vectorize_rules.h"

namespace dyn::passes {

namespace {

// The first `batched` operands have the batch axis, the others are shared; there is one result.
template <size_t batched>
bool rowsJoined(ManyBody& body, const Op& op) {
  if (op.results.size() != 1) return false;
  for (size_t i = batched; i < op.operands.size(); ++i)
    if (op.operands[i] != kNoValue && !body.isShared(op.operands[i])) return false;
  OpMaker& make = body.make();
  const auto joined = [&](ValueId a, ValueId b) {
    return make.make(ops::concatOp, {a, b}, {{"axis", int64_t{0}}});
  };
  const auto sizes = [&](ValueId v, int64_t start) {
    return make.make(ops::shapeOp, {v}, {{"start", start}});
  };
  std::vector<ValueId> operands;
  ValueId outer = kNoValue;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i] == kNoValue) {
      operands.push_back(kNoValue);
      continue;
    }
    if (i >= batched) {
      operands.push_back(body.valueOf(op.operands[i]));
      continue;
    }
    const ValueId x = body.batchedOf(op.operands[i]);
    if (outer == kNoValue) outer = make.make(ops::shapeOp, {x}, {{"start", int64_t{0}}, {"end", int64_t{2}}});
    operands.push_back(make.make(ops::reshapeOp, {x, joined(make.integers({-1}), sizes(x, 2))}));
  }
  const ValueId rows = make.make(*op.def, std::move(operands), op.attributes);
  body.give(op, 0, ops::reshapeOp, {rows, joined(outer, sizes(rows, 1))}, {{"allowzero", int64_t{1}}});
  return true;
}

}  // namespace

std::vector<VectorizeRow> imageRules() {
  return {
      {&ops::convOp, rowsJoined<1>},           {&ops::conv_transposeOp, rowsJoined<1>},
      {&ops::conv_integerOp, rowsJoined<1>},   {&ops::max_poolOp, rowsJoined<1>},
      {&ops::average_poolOp, rowsJoined<1>},   {&ops::lp_poolOp, rowsJoined<1>},
      {&ops::batch_normOp, rowsJoined<1>},     {&ops::instance_normOp, rowsJoined<1>},
      {&ops::group_normOp, rowsJoined<1>},     {&ops::lrnOp, rowsJoined<1>},
      {&ops::depth_to_spaceOp, rowsJoined<1>}, {&ops::space_to_depthOp, rowsJoined<1>},
      {&ops::grid_sampleOp, rowsJoined<2>},
  };
}

}  // namespace dyn::passes
