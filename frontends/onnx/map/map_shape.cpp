// Views, pieces, rearrangements and indices; older versions gave as attributes what are operands now.
#include <algorithm>

#include "frontends/onnx/map/map_functions.h"
#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {
namespace {

// The integers of an attribute (before `since`) or the input (from then on); kNoValue when not given.
ValueId integersOperand(MapContext& c, std::string_view attribute, int input, int64_t since) {
  if (c.version() >= since) return c.optionalInput(input);
  return c.hasAttribute(attribute) ? c.integersValue(c.integers(attribute)) : kNoValue;
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char ch) { return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch; });
  return text;
}

}  // namespace

ValueId axesFrom(MapContext& c, ValueId x, int64_t first) {
  const ValueId rank = c.emit("size", {c.emit("shape", {x})});
  return c.emit("range", {c.integerValue(first), rank, c.integerValue(1)});
}

ValueId alignedAt(MapContext& c, ValueId x, ValueId like, int64_t axis) {
  const auto rankOf = [&](ValueId value) { return c.emit("size", {c.emit("shape", {value})}); };
  ValueId first = c.integerValue(axis);
  if (axis < 0) first = c.emit("add", {first, rankOf(like)});
  const ValueId missing = c.emit("sub", {c.emit("sub", {rankOf(like), first}), rankOf(x)});
  const ValueId count = c.emit("max", {missing, c.integerValue(0)});
  const ValueId length = c.emit("reshape", {count, c.integersValue({1})});
  const HostTensor one = HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{1});
  const ValueId ones = c.emit("constant_of_shape", {length}, {{"value", one}});
  return reshaped(c, x, joinedShape(c, {c.emit("shape", {x}), ones}));
}

ValueId flattened(MapContext& c, ValueId x, int64_t axis) {
  // Products of both halves, not -1: with a dim of 0 that would be ambiguous.
  const ValueId before = c.emit("shape", {x}, {{"end", axis}});
  const ValueId after = c.emit("shape", {x}, {{"start", axis}});
  const ValueId rows = c.emit("reduce_prod", {before}, {{"keepdims", int64_t{1}}});
  const ValueId columns = c.emit("reduce_prod", {after}, {{"keepdims", int64_t{1}}});
  return reshaped(c, x, joinedShape(c, {rows, columns}));
}

void mapFlatten(MapContext& c) {
  const int64_t axis = c.integer("axis", 1);
  c.requireAxis(c.input(0), axis, MapContext::AxisEnd::included);
  c.setOutput(0, flattened(c, c.input(0), axis));
}

void mapGather(MapContext& c) { c.setOutput(0, elementsAt(c, c.input(0), c.input(1), c.integer("axis", 0))); }

// The standard wants a condition of one axis. Files have others (masked_select of Paddle): their elements
// count in row-major order, as those of x do.
void mapCompress(MapContext& c) {
  ValueId condition = c.input(1);
  if (c.inferredRank(condition) != 1) condition = reshaped(c, condition, c.integersValue({-1}));
  Attributes attributes;
  if (c.hasAttribute("axis")) attributes.set("axis", c.integer("axis", 0));
  c.setOutput(0, c.emit("compress", {c.input(0), condition}, attributes));
}

void mapSqueeze(MapContext& c) {
  c.setOutput(0, c.emit("squeeze", {c.input(0), integersOperand(c, "axes", 1, 13)}));
}

void mapUnsqueeze(MapContext& c) {
  const ValueId axes = integersOperand(c, "axes", 1, 13);
  if (axes == kNoValue) c.fail(DiagnosticId::badOperands, "it has no axes");
  c.setOutput(0, c.emit("unsqueeze", {c.input(0), axes}));
}

namespace {

// Values for axes that are known at run time only, as one for every axis of x: `others` [rank] where none is
// given.
ValueId forAllAxes(MapContext& c, ValueId others, ValueId axes, ValueId values) {
  return c.emit("scatter_elements", {others, castTo(c, axes, Dtype::i64), castTo(c, values, Dtype::i64)},
                {{"axis", int64_t{0}}});
}

bool isValue(MapContext& c, ValueId axes) { return axes != kNoValue && c.constantOf(axes) == nullptr; }

ValueId filled(MapContext& c, ValueId like, int64_t value) {
  const HostTensor element = HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{value});
  return c.emit("constant_of_shape", {c.emit("shape", {like})}, {{"value", element}});
}

// A bound that a run cuts out of a vector: it can only be one element, but inference knows that only of a
// reshape.
ValueId boundsVector(MapContext& c, ValueId bounds) {
  if (c.lengthOf(bounds) >= 0 || c.atMostOf(bounds) != 1) return bounds;
  return c.emit("reshape", {bounds, c.integersValue({1})});
}

}  // namespace

void mapSlice(MapContext& c) {
  if (c.version() >= 10) {
    const ValueId x = c.input(0), axes = c.optionalInput(3);
    const ValueId from = boundsVector(c, c.input(1)), to = boundsVector(c, c.input(2));
    if (!isValue(c, axes)) return c.setOutput(0, c.emit("slice", {x, from, to, axes, c.optionalInput(4)}));
    const ValueId shape = c.emit("shape", {x});
    const ValueId starts = forAllAxes(c, filled(c, shape, 0), axes, from);
    const ValueId ends = forAllAxes(c, shape, axes, to);
    ValueId steps = kNoValue;
    if (c.hasInput(4)) steps = forAllAxes(c, filled(c, shape, 1), axes, c.input(4));
    return c.setOutput(0, c.emit("slice", {x, starts, ends, kNoValue, steps}));
  }
  const ValueId starts = c.integersValue(c.integers("starts"));
  const ValueId ends = c.integersValue(c.integers("ends"));
  c.setOutput(0, c.emit("slice", {c.input(0), starts, ends, integersOperand(c, "axes", 3, 10)}));
}

void mapSplit(MapContext& c) {
  const ValueId sizes = integersOperand(c, "split", 1, 13);
  Attributes attributes;
  attributes.set("axis", c.integer("axis", 0));
  const int64_t parts = c.integer("num_outputs", c.outputCount());
  if (parts != c.outputCount()) {
    c.fail(DiagnosticId::badAttribute, "num_outputs is " + std::to_string(parts) + " but it has " +
                                           std::to_string(c.outputCount()) + " outputs");
  }
  if (sizes == kNoValue) attributes.set("parts", parts);
  const std::vector<ValueId> pieces =
      c.emitMany("split", {c.input(0), sizes}, std::move(attributes), static_cast<size_t>(c.outputCount()));
  for (int i = 0; i < c.outputCount(); ++i) c.setOutput(i, pieces[static_cast<size_t>(i)]);
}

void mapConcat(MapContext& c) {
  const int64_t axis = c.requiredInteger("axis");
  c.setOutput(0, c.emit("concat", c.inputs(), {{"axis", axis}}));
}

void mapPad(MapContext& c) {
  const ValueId x = c.input(0);
  Attributes attributes;
  attributes.set("mode", c.text("mode", "constant"));
  if (c.version() >= 11) {
    ValueId pads = c.input(1), axes = c.optionalInput(3);
    if (isValue(c, axes)) {
      const ValueId none = filled(c, c.emit("shape", {x}), 0);
      const std::vector<ValueId> halves =
          c.emitMany("split", {pads}, {{"axis", int64_t{0}}, {"parts", int64_t{2}}}, 2);
      pads = joinedShape(c, {forAllAxes(c, none, axes, halves[0]), forAllAxes(c, none, axes, halves[1])});
      axes = kNoValue;
    }
    c.setOutput(0, c.emit("pad", {x, pads, scalarInput(c, 2), axes}, std::move(attributes)));
    return;
  }
  if (!c.hasAttribute("pads")) c.fail(DiagnosticId::badAttribute, "attribute \"pads\" is missing");
  const double value = c.real("value", 0);
  c.setOutput(
      0, c.emit("pad", {x, c.integersValue(c.integers("pads")), value == 0 ? kNoValue : c.number(value, x)},
                std::move(attributes)));
}

namespace {

// The sizes that scales known at run time only give: floor(size * scale), in f32 as the standard's reference.
ValueId scaledSizes(MapContext& c, ValueId sizes, ValueId scales) {
  const Dtype dtype = c.dtypeOr(scales, Dtype::f32);
  return castTo(c, c.emit("floor", {c.emit("mul", {castTo(c, sizes, dtype), scales})}), Dtype::i64);
}

}  // namespace

// Upsample, and Resize of operator set 10, which rounds up along an axis that shrinks (what an Upsample may
// not do).
void mapUpsample(MapContext& c) {
  ValueId scales = c.optionalInput(1);
  if (c.version() < 9) {
    const std::vector<double> values = c.reals("scales");
    scales = c.constant(HostTensor::vectorReal(Dtype::f32, values));
  }
  const std::string mode = c.text("mode", "nearest");
  ValueId sizes = kNoValue;
  if (scales != kNoValue && c.constantOf(scales) == nullptr)
    sizes = scaledSizes(c, c.emit("shape", {c.input(0)}), scales);
  c.setOutput(0, c.emit("resize", {c.input(0), kNoValue, scales, sizes},
                        {{"mode", std::string(mode == "bilinear" ? "linear" : mode)},
                         {"coordinate_transformation_mode", std::string("asymmetric")},
                         {"nearest_mode", std::string("by_scale")}}));
}

void mapResize(MapContext& c) {
  if (c.version() < 11) return mapUpsample(c);
  const ValueId x = c.input(0);
  ValueId scales = c.optionalInput(2);
  ValueId sizes = c.optionalInput(3);
  const ValueId roi = c.optionalInput(1);
  // With sizes, scales may be an empty tensor; so may be a roi that is not needed.
  if (sizes != kNoValue) scales = kNoValue;
  Attributes attributes;
  const std::string coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  attributes.set("coordinate_transformation_mode", coordinates);
  attributes.set("mode", c.text("mode", "nearest"));
  attributes.set("nearest_mode", c.text("nearest_mode", "round_prefer_floor"));
  attributes.set("cubic_coeff_a", c.real("cubic_coeff_a", -0.75));
  attributes.set("exclude_outside", c.integer("exclude_outside", 0));
  attributes.set("extrapolation_value", c.real("extrapolation_value", 0));
  attributes.set("antialias", c.integer("antialias", 0));
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    c.fail(DiagnosticId::badAttribute, "keep_aspect_ratio_policy is " + quotedText(policy));
  ValueId from = c.emit("shape", {x});
  if (c.hasAttribute("axes")) {
    attributes.set("axes", c.integers("axes"));
    from = c.emit("gather", {from, c.integersValue(c.integers("axes"))}, {{"axis", int64_t{0}}});
  }
  if (sizes != kNoValue && policy != "stretch") {
    // The smallest (largest) of the scales is that of all axes.
    const ValueId old = castTo(c, from, Dtype::f64),
                  ratios = c.emit("div", {castTo(c, sizes, Dtype::f64), old});
    scales =
        c.emit(policy == "not_larger" ? "reduce_min" : "reduce_max", {ratios}, {{"keepdims", int64_t{1}}});
    scales = c.emit("expand", {scales, c.emit("shape", {from})});
    const ValueId half = c.numberOf(0.5, Dtype::f64);
    sizes = castTo(c, c.emit("floor", {c.emit("add", {c.emit("mul", {old, scales}), half})}), Dtype::i64);
  } else if (sizes == kNoValue && scales != kNoValue && c.constantOf(scales) == nullptr) {
    sizes = scaledSizes(c, from, scales);
  }
  const bool needsRoi = coordinates == "tf_crop_and_resize";
  c.setOutput(0, c.emit("resize", {x, needsRoi ? roi : kNoValue, scales, sizes}, std::move(attributes)));
}

void mapDepthToSpace(MapContext& c) {
  Attributes attributes;
  attributes.set("block", c.requiredInteger("blocksize"));
  attributes.set("mode", lowered(c.text("mode", "DCR")));
  c.setOutput(0, c.emit("depth_to_space", {c.input(0)}, std::move(attributes)));
}

void mapSpaceToDepth(MapContext& c) {
  const int64_t block = c.requiredInteger("blocksize");
  const std::string mode = c.text("mode", "DCR");
  ValueId y = c.emit("space_to_depth", {c.input(0)}, {{"block", block}});
  if (mode == "CRD") {
    // The pixels of a block stand within a channel: [n, block * block, c, h, w] the other way round.
    const ValueId parts = c.emit("shape", {c.input(0)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    const ValueId apart = joinedShape(c, {dimAt(c, y, 0), c.integersValue({block * block}), parts,
                                          c.emit("shape", {y}, {{"start", int64_t{2}}})});
    y = reshaped(c, transposed(c, reshaped(c, y, apart), {0, 2, 1, 3, 4}), c.emit("shape", {y}));
  } else if (mode != "DCR") {
    c.fail(DiagnosticId::badAttribute, "mode is " + quotedText(mode) + ", not DCR or CRD");
  }
  c.setOutput(0, y);
}

void mapTopK(MapContext& c) {
  const ValueId k = c.version() < 10 ? c.integersValue({c.requiredInteger("k")}) : c.input(1);
  const std::vector<ValueId> results = c.emitMany("topk", {c.input(0), k},
                                                  {{"axis", c.integer("axis", -1)},
                                                   {"largest", c.integer("largest", 1)},
                                                   {"sorted", c.integer("sorted", 1)}},
                                                  2);
  c.setOutput(0, results[0]);
  c.setOutput(1, results[1]);
}

void mapScatter(MapContext& c) {
  Attributes attributes;
  std::string reduction = c.text("reduction", "none");
  attributes.set("reduction", reduction);
  const bool nd = c.node().opType == "ScatterND";
  if (!nd) attributes.set("axis", c.integer("axis", 0));
  c.setOutput(0, c.emit(nd ? "scatter_nd" : "scatter_elements", {c.input(0), c.input(1), c.input(2)},
                        std::move(attributes)));
}

}  // namespace dyn::onnx
