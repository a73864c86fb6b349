// Quantised products, by way of the values they stand for.
#include "frontends/onnx/map_functions.h"
#include "frontends/onnx/map_table.h"

namespace dyn::onnx {
namespace {

ValueId dequantized(MapContext& c, ValueId x, ValueId scale, ValueId zero, int64_t axis) {
  return c.emit("dequantize_linear", {x, scale, zero}, {{"axis", axis}});
}

ValueId quantized(MapContext& c, ValueId x, ValueId scale, ValueId zero) {
  return c.emit("quantize_linear", {castTo(c, x, c.dtypeOr(scale, Dtype::f32)), scale, zero});
}

Attributes convolutionAttributes(MapContext& c) {
  Attributes attributes;
  for (const char* name : {"strides", "dilations", "pads", "kernel_shape"})
    if (c.hasAttribute(name)) attributes.set(name, c.integers(name));
  attributes.set("auto_pad", c.text("auto_pad", "NOTSET"));
  attributes.set("group", c.integer("group", 1));
  return attributes;
}

}  // namespace

// Blocks of scales along an axis are not in the IR's rows.
void mapQuantizeLinear(MapContext& c) {
  if (c.integer("block_size", 0) != 0)
    c.unsupported("quantisation in blocks (block_size)", "quantise per tensor or per channel");
  if (c.integer("saturate", 1) == 0) c.unsupported("quantisation to 8-bit reals without saturation");
  if (c.integer("precision", 0) > 1) c.unsupported("a precision other than FLOAT for the division");
  mapDirect(c, c.node().opType == "QuantizeLinear" ? "quantize_linear" : "dequantize_linear");
}

void mapQLinearMatMul(MapContext& c) {
  const ValueId a = dequantized(c, c.input(0), c.input(1), c.input(2), 0);
  const ValueId b = dequantized(c, c.input(3), c.input(4), c.input(5), -1);
  c.setOutput(0, quantized(c, c.emit("matmul", {a, b}), c.input(6), c.input(7)));
}

void mapQLinearConv(MapContext& c) {
  const ValueId x = dequantized(c, c.input(0), c.input(1), c.input(2), 1);
  const ValueId w = dequantized(c, c.input(3), c.input(4), c.input(5), 0);
  ValueId bias = kNoValue;
  if (c.hasInput(8)) {
    const ValueId scale = c.emit("mul", {c.input(1), c.input(4)});
    bias = c.emit("mul", {castTo(c, c.input(8), Dtype::f32), scale});
  }
  c.setOutput(0,
              quantized(c, c.emit("conv", {x, w, bias}, convolutionAttributes(c)), c.input(6), c.input(7)));
}

// In f64, which holds every sum of products of bytes exactly.
void mapConvInteger(MapContext& c) {
  ValueId x = castTo(c, c.input(0), Dtype::f64), w = castTo(c, c.input(1), Dtype::f64);
  if (c.hasInput(2)) x = c.emit("sub", {x, castTo(c, c.input(2), Dtype::f64)});
  if (c.hasInput(3)) {
    ValueId zero = castTo(c, c.input(3), Dtype::f64);
    if (c.rankOf(c.input(3)) == 1) zero = c.emit("unsqueeze", {zero, axesFrom(c, w, 1)});
    w = c.emit("sub", {w, zero});
  }
  c.setOutput(0, castTo(c, c.emit("conv", {x, w}, convolutionAttributes(c)), Dtype::i32));
}

}  // namespace dyn::onnx
