// Quantised products, by way of the values they stand for.
#include "frontends/onnx/map/map_functions.h"
#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {

ValueId dequantized(MapContext& c, ValueId x, ValueId scale, ValueId zero, int64_t axis) {
  return c.emit("dequantize_linear", {x, scale, zero}, {{"axis", axis}});
}

ValueId quantized(MapContext& c, ValueId x, ValueId scale, ValueId zero, Dtype dtype) {
  Attributes attributes;
  if (zero == kNoValue) attributes.set("output_dtype", dtype);
  return c.emit("quantize_linear", {castTo(c, x, c.dtypeOr(scale, Dtype::f32)), scale, zero},
                std::move(attributes));
}

Attributes convolutionAttributes(MapContext& c) {
  Attributes attributes;
  for (const char* name : {"strides", "dilations", "pads", "kernel_shape"})
    if (c.hasAttribute(name)) attributes.set(name, c.integers(name));
  attributes.set("auto_pad", c.text("auto_pad", "NOTSET"));
  attributes.set("group", c.integer("group", 1));
  return attributes;
}

namespace {

bool isNarrowReal(Dtype dtype) { return isReal(dtype) && storageBytes(dtype) == 1; }

// A scale or zero point with one element for each element of x that it goes with: it has one for all, one for each place of the axis, or
// one for each block of places.
ValueId spreadOver(MapContext& c, ValueId parameter, ValueId x, int64_t axis, int64_t block) {
  if (block == 0) return alignedAt(c, parameter, x, axis);
  const ValueId places = counting(c, dimAt(c, x, axis));
  return c.emit("gather", {parameter, c.emit("div", {places, c.integerValue(block)})}, {{"axis", axis}});
}

std::pair<double, double> limitsOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::i8:
      return {-128, 127};
    case Dtype::u8:
      return {0, 255};
    case Dtype::i16:
      return {-32768, 32767};
    case Dtype::u16:
      return {0, 65535};
    case Dtype::i4:
      return {-8, 7};
    case Dtype::u4:
      return {0, 15};
    case Dtype::i2:
      return {-2, 1};
    default:
      return {0, 3};
  }
}

// What the IR's rows do not do in one: blocks of scales along an axis, and reals of 8 or 4 bits.
void quantizeInSteps(MapContext& c, Dtype dtype, int64_t block) {
  const int64_t axis = c.integer("axis", 1), saturate = c.integer("saturate", 1);
  const ValueId x = castTo(c, c.input(0), Dtype::f32);
  const auto spread = [&](ValueId v) { return castTo(c, spreadOver(c, v, x, axis, block), Dtype::f32); };
  ValueId y = c.emit("div", {x, spread(c.input(1))});
  if (!isReal(dtype)) y = c.emit("round", {y});
  if (c.hasInput(2)) y = c.emit("add", {y, spread(c.input(2))});
  if (isReal(dtype)) return c.setOutput(0, c.emit("cast", {y}, {{"to", dtype}, {"saturate", saturate}}));
  const auto [low, high] = limitsOf(dtype);
  y = c.emit("clip", {y, c.number(low, y), c.number(high, y)});
  c.setOutput(0, castTo(c, castTo(c, y, Dtype::i32), dtype));
}

void dequantizeInSteps(MapContext& c, int64_t block) {
  const int64_t axis = c.integer("axis", 1);
  const ValueId scale = c.input(1);
  ValueId x = castTo(c, c.input(0), Dtype::f32);
  const auto spread = [&](ValueId v) { return castTo(c, spreadOver(c, v, x, axis, block), Dtype::f32); };
  if (c.hasInput(2)) x = c.emit("sub", {x, spread(c.input(2))});
  const ValueId y = c.emit("mul", {x, spread(scale)});
  c.setOutput(0, castTo(c, y, c.dtype("output_dtype").value_or(c.dtypeOr(scale, Dtype::f32))));
}

}  // namespace

void mapQuantizeLinear(MapContext& c) {
  const bool makes = c.node().opType == "QuantizeLinear";
  const int64_t block = c.integer("block_size", 0);
  if (block < 0) c.fail(DiagnosticId::badAttribute, "block_size is negative");
  if (c.integer("precision", 0) > 1) c.unsupported("a precision other than FLOAT for the division");
  std::optional<Dtype> narrow;
  if (!makes)
    narrow = c.inferredDtype(c.input(0));
  else
    narrow = c.hasInput(2) ? c.inferredDtype(c.input(2)) : c.dtype("output_dtype").value_or(Dtype::u8);
  if (block != 0 && !narrow) c.unsupported("the quantised element type is not known before inference");
  if (!narrow || (block == 0 && !isNarrowReal(*narrow))) {
    if (c.integer("saturate", 1) == 0) c.unsupported("quantisation to 8-bit reals without saturation");
    return mapDirect(c, makes ? "quantize_linear" : "dequantize_linear");
  }
  if (makes)
    quantizeInSteps(c, *narrow, block);
  else
    dequantizeInSteps(c, block);
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

void mapConvInteger(MapContext& c) {
  const std::vector<ValueId> operands = {c.input(0), c.input(1), c.optionalInput(2), c.optionalInput(3)};
  c.setOutput(0, c.emit("conv_integer", operands, convolutionAttributes(c)));
}

}  // namespace dyn::onnx
