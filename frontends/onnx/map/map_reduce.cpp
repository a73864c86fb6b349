// Reductions, and softmax in its old form.
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

struct ReduceRow {
  std::string_view onnx, op;
};
constexpr ReduceRow kReductions[] = {
    {"ReduceL1", "reduce_l1"},          {"ReduceL2", "reduce_l2"},
    {"ReduceLogSum", "reduce_log_sum"}, {"ReduceLogSumExp", "reduce_log_sum_exp"},
    {"ReduceMax", "reduce_max"},        {"ReduceMean", "reduce_mean"},
    {"ReduceMin", "reduce_min"},        {"ReduceProd", "reduce_prod"},
    {"ReduceSum", "reduce_sum"},        {"ReduceSumSquare", "reduce_sum_square"},
};

}  // namespace

void mapReduce(MapContext& c) {
  std::string_view op;
  for (const ReduceRow& row : kReductions)
    if (row.onnx == c.node().opType) op = row.op;
  const int64_t asInputSince = op == "reduce_sum" ? 13 : 18;
  ValueId axes = kNoValue;
  Attributes attributes;
  attributes.set("keepdims", c.integer("keepdims", 1));
  if (c.version() >= asInputSince) {
    axes = c.optionalInput(1);
    attributes.set("noop_with_empty_axes", c.integer("noop_with_empty_axes", 0));
  } else if (c.hasAttribute("axes")) {
    axes = c.integersValue(c.integers("axes"));
  }
  c.setOutput(0, c.emit(op, {c.input(0), axes}, std::move(attributes)));
}

// Softmax, LogSoftmax, Hardmax. Before opset 13 they saw their operand as a matrix, split at the axis.
void mapSoftmax(MapContext& c) {
  const Text name = c.node().opType;
  const std::string op = name == "Softmax" ? "softmax" : name == "LogSoftmax" ? "log_softmax" : "hardmax";
  const ValueId x = c.input(0);
  if (c.version() >= 13) {
    c.setOutput(0, c.emit(op, {x}, {{"axis", c.integer("axis", -1)}}));
    return;
  }
  const int64_t axis = c.integer("axis", 1);
  if (axis == -1) {  // the last axis alone: the same in both forms
    c.setOutput(0, c.emit(op, {x}, {{"axis", axis}}));
    return;
  }
  c.requireAxis(x, axis);
  const ValueId y = c.emit(op, {flattened(c, x, axis)}, {{"axis", int64_t{1}}});
  c.setOutput(0, reshaped(c, y, c.emit("shape", {x})));
}

void mapGlobalPool(MapContext& c) {
  const ValueId x = c.input(0);
  const bool mean = c.node().opType == "GlobalAveragePool";
  c.setOutput(
      0, c.emit(mean ? "reduce_mean" : "reduce_max", {x, axesFrom(c, x, 2)}, {{"keepdims", int64_t{1}}}));
}

ValueId globalNorm(MapContext& c, ValueId x, double p) {
  const Attributes keep{{"keepdims", int64_t{1}}};
  if (p == 1 || p == 2) return c.emit(p == 1 ? "reduce_l1" : "reduce_l2", {x, axesFrom(c, x, 2)}, keep);
  const ValueId powers = c.emit("pow", {c.emit("abs", {x}), c.number(p, x)});
  return c.emit("pow", {c.emit("reduce_sum", {powers, axesFrom(c, x, 2)}, keep), c.number(1 / p, x)});
}

void mapGlobalLpPool(MapContext& c) {
  c.setOutput(0, globalNorm(c, c.input(0), static_cast<double>(c.integer("p", 2))));
}

}  // namespace dyn::onnx
