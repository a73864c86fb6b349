// Quantised products, by way of the values they stand for.
#include "frontends/onnx/map_functions.h"
#include "frontends/onnx/map_table.h"

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

struct IntegerRange {
  Dtype dtype;
  double low, high;
};
constexpr IntegerRange kQuantized[] = {
    {Dtype::u8, 0, 255}, {Dtype::i8, -128, 127}, {Dtype::u16, 0, 65535}, {Dtype::i16, -32768, 32767},
    {Dtype::u4, 0, 15},  {Dtype::i4, -8, 7},     {Dtype::u2, 0, 3},      {Dtype::i2, -2, 1},
};

// A scale or zero point for every element of x: each of its elements along the axis counts for `block` of x's.
ValueId spreadBlocks(MapContext& c, ValueId parameter, ValueId x, int64_t axis, int64_t block) {
  const ValueId place =
      c.emit("div", {counting(c, c.emit("gather", {c.emit("shape", {x}), c.integersValue({axis})})),
                     c.integerValue(block)});
  return c.emit("gather", {parameter, place}, {{"axis", axis}});
}

void mapQuantizeBlocks(MapContext& c, int64_t block) {
  const bool forward = c.node().opType == "QuantizeLinear";
  const ValueId x = c.input(0);
  const int64_t axis = c.integer("axis", 1);
  const ValueId scale = castTo(c, spreadBlocks(c, c.input(1), x, axis, block), Dtype::f32);
  ValueId zero = kNoValue;
  if (c.hasInput(2))
    zero = castTo(c, spreadBlocks(c, castTo(c, c.input(2), Dtype::f32), x, axis, block), Dtype::f32);
  if (!forward) {
    ValueId y = castTo(c, x, Dtype::f32);
    if (zero != kNoValue) y = c.emit("sub", {y, zero});
    const Dtype like = c.dtypeOr(c.input(1), Dtype::f32);
    return c.setOutput(0, castTo(c, c.emit("mul", {y, scale}), c.dtype("output_dtype").value_or(like)));
  }
  const Dtype to =
      c.hasInput(2) ? c.dtypeOr(c.input(2), Dtype::u8) : c.dtype("output_dtype").value_or(Dtype::u8);
  const IntegerRange* range = nullptr;
  for (const IntegerRange& row : kQuantized)
    if (row.dtype == to) range = &row;
  if (range == nullptr) return c.unsupported("quantisation in blocks to " + std::string(toString(to)));
  ValueId y = c.emit("round", {c.emit("div", {castTo(c, x, Dtype::f32), scale})});
  if (zero != kNoValue) y = c.emit("add", {y, zero});
  y = c.emit("clip", {y, c.numberOf(range->low, Dtype::f32), c.numberOf(range->high, Dtype::f32)});
  c.setOutput(0, castTo(c, castTo(c, y, Dtype::i32), to));
}

}  // namespace

// Blocks of scales along an axis are not in the IR's rows: they are written out.
void mapQuantizeLinear(MapContext& c) {
  if (c.integer("saturate", 1) == 0) c.unsupported("quantisation to 8-bit reals without saturation");
  if (c.integer("precision", 0) > 1) c.unsupported("a precision other than FLOAT for the division");
  if (const int64_t block = c.integer("block_size", 0); block != 0) {
    if (block < 0) return c.fail(DiagnosticId::badAttribute, "block_size is negative");
    return mapQuantizeBlocks(c, block);
  }
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
