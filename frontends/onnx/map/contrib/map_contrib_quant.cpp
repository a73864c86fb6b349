// com.microsoft: operators on quantised tensors, by way of the values they stand for.
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// Inputs i, i + 1, i + 2: a tensor, its scale and its zero point.
ValueId valueOf(MapContext& c, int i) {
  return dequantized(c, c.input(i), c.input(i + 1), c.optionalInput(i + 2), 0);
}

// The result by inputs i, i + 1: scale and zero point; of the type of input 0.
void setQuantized(MapContext& c, ValueId x, int i) {
  c.setOutput(0, quantized(c, x, c.input(i), c.optionalInput(i + 1), c.dtypeOr(c.input(0), Dtype::u8)));
}

// The type of the result: that of its zero point (input i), else that of input 0.
Dtype quantizedDtype(MapContext& c, int i) {
  return c.inferredDtype(c.hasInput(i) ? c.input(i) : c.input(0)).value_or(Dtype::u8);
}

// The axes between the batch and the channels, for either layout.
ValueId spatialAxes(MapContext& c, ValueId x, bool channelsLast) {
  if (!channelsLast) return axesFrom(c, x, 2);
  const ValueId rank = c.emit("size", {c.emit("shape", {x})});
  return c.emit("range", {c.integerValue(1), c.emit("sub", {rank, c.integerValue(1)}), c.integerValue(1)});
}

// The mean of input 0 along the axes, quantised as result: (mean of x - zero point) * scale, so that no
// element is more than converted and added.
void setQuantizedMean(MapContext& c, ValueId axes, int64_t keepdims) {
  const Dtype real = c.dtypeOr(c.input(1), Dtype::f32);
  ValueId mean = c.emit("reduce_mean", {castTo(c, c.input(0), real), axes}, {{"keepdims", keepdims}});
  if (c.hasInput(2)) mean = c.emit("sub", {mean, scalarOf(c, castTo(c, c.input(2), real))});
  setQuantized(c, c.emit("mul", {mean, scalarOf(c, c.input(1))}), 3);
}

}  // namespace

// a * ua + (b * ub + shift): each scale is divided by the result's once, and the zero points go together into
// one number, as in onnxruntime. A cast to a small integer cuts to its range.
void mapQLinearAdd(MapContext& c) {
  const Dtype real = c.dtypeOr(c.input(6), Dtype::f32);
  const ValueId scaleY = scalarOf(c, c.input(6));
  const auto zeroPoint = [&](int i) { return scalarOf(c, castTo(c, c.input(i), real)); };
  ValueId shift = c.hasInput(7) ? zeroPoint(7) : c.number(0, scaleY);
  ValueId terms[2];
  for (int i = 0; i < 2; ++i) {
    const ValueId unit = c.emit("div", {scalarOf(c, c.input(3 * i + 1)), scaleY});
    if (c.hasInput(3 * i + 2)) shift = c.emit("sub", {shift, c.emit("mul", {zeroPoint(3 * i + 2), unit})});
    terms[i] = c.emit("mul", {castTo(c, c.input(3 * i), real), unit});
  }
  const ValueId y = c.emit("add", {terms[0], c.emit("add", {terms[1], shift})});
  c.setOutput(0, castTo(c, c.emit("round", {y}), quantizedDtype(c, 7)));
}

// The scales go together into one number, so that no element is divided.
void mapQLinearMul(MapContext& c) {
  const ValueId scaleY = c.input(6), zeroY = c.optionalInput(7);
  const ValueId unit = c.emit("div", {c.emit("mul", {c.input(1), c.input(4)}), scaleY});
  const ValueId a = dequantized(c, c.input(0), unit, c.optionalInput(2), 0);
  const ValueId b = dequantized(c, c.input(3), c.number(1, unit), c.optionalInput(5), 0);
  ValueId y = c.emit("round", {c.emit("mul", {a, b})});
  if (zeroY != kNoValue) y = c.emit("add", {y, castTo(c, zeroY, c.dtypeOr(scaleY, Dtype::f32))});
  c.setOutput(0, castTo(c, y, quantizedDtype(c, 7)));
}

// QLinearSigmoid, QLinearLeakyRelu
void mapQLinearUnary(MapContext& c) {
  const ValueId x = valueOf(c, 0);
  const bool sigmoid = c.node().opType == "QLinearSigmoid";
  const ValueId y =
      sigmoid ? c.emit("sigmoid", {x}) : c.emit("leaky_relu", {x}, {{"alpha", c.real("alpha", 0.01)}});
  setQuantized(c, y, 3);
}

// Scale and zero point of the result, then three inputs for each operand.
void mapQLinearConcat(MapContext& c) {
  if (c.inputCount() < 5 || (c.inputCount() - 2) % 3 != 0)
    c.fail(DiagnosticId::badOperands, "after the result's scale and zero point come three inputs per tensor");
  std::vector<ValueId> values;
  for (int i = 2; i + 2 < c.inputCount(); i += 3) values.push_back(valueOf(c, i));
  const ValueId y = c.emit("concat", values, {{"axis", c.requiredInteger("axis")}});
  c.setOutput(0, quantized(c, y, c.input(0), c.input(1)));
}

void mapQLinearSoftmax(MapContext& c) {
  const ValueId x = valueOf(c, 0);
  const int64_t axis = c.integer("axis", -1);
  ValueId y;
  if (c.integer("opset", 13) >= 13 || axis == -1) {
    y = c.emit("softmax", {x}, {{"axis", axis}});
  } else {
    y = c.emit("softmax", {flattened(c, x, axis)}, {{"axis", int64_t{1}}});
    y = reshaped(c, y, c.emit("shape", {x}));
  }
  setQuantized(c, y, 3);
}

void mapQLinearReduceMean(MapContext& c) {
  const ValueId axes = c.hasAttribute("axes") ? c.integersValue(c.integers("axes")) : kNoValue;
  setQuantizedMean(c, axes, c.integer("keepdims", 1));
}

// QLinearGlobalAveragePool, QLinearAveragePool
void mapQLinearPool(MapContext& c) {
  const bool channelsLast = c.integer("channels_last", 0) != 0;
  if (c.node().opType == "QLinearGlobalAveragePool")
    return setQuantizedMean(c, spatialAxes(c, c.input(0), channelsLast), 1);
  const ValueId x = valueOf(c, 0);
  if (channelsLast) c.unsupported("average pools with the channels last");
  Attributes attributes;
  for (const char* name : {"strides", "pads", "kernel_shape"})
    if (c.hasAttribute(name)) attributes.set(name, c.integers(name));
  attributes.set("auto_pad", c.text("auto_pad", "NOTSET"));
  attributes.set("ceil_mode", c.integer("ceil_mode", 0));
  attributes.set("count_include_pad", c.integer("count_include_pad", 0));
  setQuantized(c, c.emit("average_pool", {x}, std::move(attributes)), 3);
}

// condition; x, y each with scale and zero point
void mapQLinearWhere(MapContext& c) {
  const ValueId y = c.emit("where", {c.input(0), valueOf(c, 1), valueOf(c, 4)});
  c.setOutput(0, quantized(c, y, c.input(7), c.optionalInput(8), c.dtypeOr(c.input(1), Dtype::u8)));
}

// alpha * a' b' + c, where c is i32 in units of both scales; without a scale for the result it stays real.
void mapQGemm(MapContext& c) {
  Attributes attributes;
  if (c.integer("transA", 0) != 0) attributes.set("transpose_a", int64_t{1});
  const bool transposed = c.integer("transB", 0) != 0;
  if (transposed) attributes.set("transpose_b", int64_t{1});
  const ValueId b = dequantized(c, c.input(3), c.input(4), c.optionalInput(5), transposed ? 0 : 1);
  ValueId y = c.emit("matmul", {valueOf(c, 0), b}, std::move(attributes));
  const double alpha = c.real("alpha", 1);
  if (alpha != 1) y = c.emit("mul", {y, c.number(alpha, y)});
  if (c.hasInput(6)) {
    ValueId unit = c.emit("mul", {c.input(1), c.input(4)});
    if (alpha != 1) unit = c.emit("mul", {unit, c.number(alpha, unit)});
    y = c.emit("add", {y, c.emit("mul", {castTo(c, c.input(6), Dtype::f32), unit})});
  }
  if (!c.hasInput(7)) return c.setOutput(0, y);
  setQuantized(c, y, 7);
}

}  // namespace dyn::onnx
