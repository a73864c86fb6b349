// Operators of onnxruntime that are others of the standard in another form, or a few steps of them.
#include <cmath>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

Dtype computedIn(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

std::vector<ValueId> halvesOf(MapContext& c, ValueId x) {
  return c.emitMany("split", {x}, {{"axis", int64_t{0}}, {"parts", int64_t{2}}}, 2);
}

}  // namespace

// axis: one integer
void mapExpandDims(MapContext& c) {
  const ValueId axis = castTo(c, c.input(1), Dtype::i64);
  c.setOutput(0, c.emit("unsqueeze", {c.input(0), reshaped(c, axis, c.integersValue({1}))}));
}

void mapContribRange(MapContext& c) {
  const std::optional<Dtype> dtype = c.inferredDtype(c.input(0));
  if (!dtype) return c.unsupported("the element type of the range is not known before inference");
  const ValueId delta = c.hasInput(2) ? scalarOf(c, c.input(2))
                                      : c.constant(isReal(*dtype) ? HostTensor::scalar(*dtype, 1)
                                                                  : HostTensor::scalarInt(*dtype, 1));
  c.setOutput(0, c.emit(isReal(*dtype) ? "range_real" : "range",
                        {scalarOf(c, c.input(0)), scalarOf(c, c.input(1)), delta}));
}

// Values in the order in which they appear, the place of each element's value, counts.
void mapContribUnique(MapContext& c) {
  const std::vector<ValueId> all = c.emitMany("unique", {c.input(0)}, {{"sorted", int64_t{0}}}, 4);
  c.setOutput(0, all[0]);
  c.setOutput(1, all[2]);
  c.setOutput(2, all[3]);
}

// pads: [2 rank] or [1, 2 rank]
void mapContribPad(MapContext& c) {
  const ValueId pads = reshaped(c, c.input(1), c.integersValue({-1}));
  const ValueId fill = c.hasInput(2) ? scalarOf(c, c.input(2)) : kNoValue;
  c.setOutput(0, c.emit("pad", {c.input(0), pads, fill}, {{"mode", c.text("mode", "constant")}}));
}

// Distances between the rows of a [m, n] and of b [k, n]: by their differences, as nothing cancels then.
void mapCDist(MapContext& c) {
  const std::string metric = c.text("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return c.unsupported("metric " + quotedText(metric) + ": onnxruntime knows euclidean and sqeuclidean");
  const ValueId differences = c.emit("sub", {unsqueezed(c, c.input(0), {1}), unsqueezed(c, c.input(1), {0})});
  const ValueId squares =
      c.emit("reduce_sum_square", {differences, c.integersValue({2})}, {{"keepdims", int64_t{0}}});
  c.setOutput(0, metric == "euclidean" ? c.emit("sqrt", {squares}) : squares);
}

void mapMatMulInteger16(MapContext& c) {
  const auto wide = [&](int i) { return castTo(c, c.input(i), Dtype::i32); };
  c.setOutput(0, c.emit("matmul", {wide(0), wide(1)}));
}

// The sparse matrix is a weight, which is read as a dense one.
void mapSparseToDenseMatMul(MapContext& c) {
  Attributes attributes;
  if (c.integer("transA", 0) != 0) attributes.set("transpose_a", int64_t{1});
  if (c.integer("transB", 0) != 0) attributes.set("transpose_b", int64_t{1});
  const double alpha = c.real("alpha", 1);
  ValueId y = c.emit("matmul", {c.input(0), c.input(1)}, std::move(attributes));
  if (alpha != 1) y = c.emit("mul", {y, c.number(alpha, y)});
  c.setOutput(0, y);
}

// x [n, spatial..., channels]
void mapNhwcMaxPool(MapContext& c) {
  Attributes attributes;
  const std::vector<int64_t> window = c.integers("kernel_shape");
  attributes.set("kernel_shape", window);
  for (const char* name : {"strides", "pads", "dilations"})
    if (c.hasAttribute(name)) attributes.set(name, c.integers(name));
  attributes.set("auto_pad", c.text("auto_pad", "NOTSET"));
  attributes.set("ceil_mode", c.integer("ceil_mode", 0));
  const auto axes = static_cast<int64_t>(window.size());
  std::vector<int64_t> first = {0, axes + 1}, last = {0};
  for (int64_t i = 1; i <= axes; ++i) {
    first.push_back(i);
    last.push_back(i + 1);
  }
  last.push_back(1);
  const ValueId pooled = c.emit("max_pool", {transposed(c, c.input(0), first)}, std::move(attributes));
  c.setOutput(0, transposed(c, pooled, last));
}

// What the pads take away is cut off the whole result.
void mapConvTransposeWithDynamicPads(MapContext& c) {
  Attributes attributes;
  for (const char* name : {"kernel_shape", "strides", "dilations", "output_padding"})
    if (c.hasAttribute(name)) attributes.set(name, c.integers(name));
  attributes.set("group", c.integer("group", 1));
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET") return c.unsupported("auto_pad " + automatic + " beside pads that a run gives");
  const ValueId whole =
      c.emit("conv_transpose", {c.input(0), c.input(1), c.optionalInput(3)}, std::move(attributes));
  if (!c.hasInput(2)) return c.setOutput(0, whole);
  const std::vector<ValueId> pads = halvesOf(c, castTo(c, c.input(2), Dtype::i64));
  const ValueId ends = c.emit("sub", {c.emit("shape", {whole}, {{"start", int64_t{2}}}), pads[1]});
  const ValueId axes = axesFrom(c, whole, 2);
  c.setOutput(0, c.emit("slice", {whole, pads[0], ends, axes}));
}

// silu(alpha x), each step rounded to the type of x
void mapScaledSilu(MapContext& c) {
  const ValueId x = c.input(0);
  const Dtype dtype = c.dtypeOr(x, Dtype::f32), computed = computedIn(dtype);
  const ValueId scale =
      c.hasInput(1) ? castTo(c, c.input(1), computed) : c.numberOf(c.real("alpha", 1), computed);
  const ValueId z = castTo(c, c.emit("mul", {castTo(c, x, computed), scale}), dtype);
  const ValueId wide = castTo(c, z, computed);
  const ValueId chance = castTo(c, c.emit("sigmoid", {wide}), dtype);
  c.setOutput(0, castTo(c, c.emit("mul", {wide, castTo(c, chance, computed)}), dtype));
}

// x + y * gate
void mapGatedAdd(MapContext& c) {
  if (c.hasInput(3)) return c.unsupported("a projected gate: onnxruntime has it for GPUs only");
  c.setOutput(0, c.emit("add", {c.input(0), c.emit("mul", {c.input(1), c.input(2)})}));
}

namespace {

// x / sqrt(mean of squares along the last axis + epsilon)
ValueId byRootOfSquares(MapContext& c, ValueId x, double epsilon) {
  const ValueId mean = c.emit("reduce_mean", {c.emit("mul", {x, x}), c.integersValue({-1})});
  return c.emit("div", {x, c.emit("sqrt", {c.emit("add", {mean, c.number(epsilon, mean)})})});
}

// x [..., count * h] → [..., count, h]; itself where no number is given: it has that form.
ValueId branchesApart(MapContext& c, ValueId x, ValueId count) {
  const ValueId outer = c.emit("shape", {x}, {{"end", int64_t{-1}}});
  return reshaped(c, x, joinedShape(c, {outer, count, c.emit("div", {dimAt(c, x, -1), count})}));
}

}  // namespace

// Groups of as many elements as `scale` has.
void mapGatedRmsNorm(MapContext& c) {
  const ValueId x = c.input(0), scale = castTo(c, c.input(1), Dtype::f32);
  const std::string activation = c.text("activation", "silu");
  const bool plain = activation == "sigmoid";
  if (!plain && activation != "silu" && activation != "swish")
    c.fail(DiagnosticId::badAttribute, "activation is " + quotedText(activation));
  const ValueId groups = c.emit("div", {dimAt(c, x, -1), dimAt(c, scale, 0)});
  const ValueId rows = branchesApart(c, castTo(c, x, Dtype::f32), groups);
  ValueId y = c.emit("mul", {byRootOfSquares(c, rows, c.real("epsilon", 1e-5)), scale});
  y = reshaped(c, y, c.emit("shape", {x}));
  const ValueId gate = castTo(c, c.input(2), Dtype::f32);
  const ValueId opened = plain ? c.emit("sigmoid", {gate}) : swish(c, gate, 1);
  c.setOutput(0, castTo(c, c.emit("mul", {y, opened}), c.dtypeOr(x, Dtype::f32)));
}

void mapBranchwiseRmsNorm(MapContext& c) {
  const ValueId x = c.input(0);
  const int64_t branches = c.integer("num_branches", 0);
  ValueId wide = castTo(c, x, Dtype::f32);
  if (branches > 0) wide = branchesApart(c, wide, c.integersValue({branches}));
  ValueId y = byRootOfSquares(c, wide, c.real("epsilon", 1e-5));
  if (c.hasInput(1)) {
    ValueId scale = castTo(c, c.input(1), Dtype::f32);
    const int rank = c.inferredRank(scale);
    if (rank < 1) return c.unsupported("a scale whose rank is not known");
    // [count * h] or [h], as [count, h] or [1, h]
    if (rank == 1) scale = reshaped(c, scale, joinedShape(c, {c.integersValue({-1}), dimAt(c, y, -1)}));
    y = c.emit("mul", {y, scale});
  }
  c.setOutput(0, castTo(c, reshaped(c, y, c.emit("shape", {x})), c.dtypeOr(x, Dtype::f32)));
}

// [..., n, ...] → [..., (n - size) / step + 1, ..., size]
void mapUnfoldTensor(MapContext& c) {
  const ValueId x = c.input(0);
  const int64_t given = c.integer("dim", -1), size = c.requiredInteger("size"), step = c.integer("step", 1);
  const int rank = c.inferredRank(x);
  if (rank < 1) return c.unsupported("an operand whose rank is not known");
  if (size < 1 || step < 1) return c.fail(DiagnosticId::badAttribute, "size and step are at least 1");
  const int64_t axis = given < 0 ? given + rank : given;
  c.requireAxis(x, given);
  const ValueId length = dimAt(c, x, axis);
  const ValueId count = c.emit(
      "add", {c.emit("div", {c.emit("sub", {length, c.integersValue({size})}), c.integersValue({step})}),
              c.integersValue({1})});
  c.requireInRange(scalarOf(c, length), c.integerValue(size), kNoValue, "the unfolded dim");
  const ValueId begins = c.emit("mul", {counting(c, count), c.integerValue(step)});
  const ValueId places = c.emit("add", {unsqueezed(c, begins, {1}), counting(c, c.integerValue(size))});
  const ValueId slices = c.emit("gather", {x, places}, {{"axis", axis}});
  std::vector<int64_t> order;
  for (int64_t i = 0; i <= rank; ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  c.setOutput(0, transposed(c, slices, order));
}

// decay = decay_scale * softplus(a + dt_bias), beta = sigmoid(b)
void mapLinearAttentionGate(MapContext& c) {
  const ValueId a = c.input(0);
  const Dtype dtype = c.dtypeOr(a, Dtype::f32);
  const ValueId shifted = c.emit("add", {castTo(c, a, Dtype::f32), castTo(c, c.input(1), Dtype::f32)});
  const ValueId decay = c.emit("mul", {c.emit("softplus", {shifted}), castTo(c, c.input(2), Dtype::f32)});
  c.setOutput(0, castTo(c, decay, dtype));
  if (c.hasInput(3)) c.setOutput(1, castTo(c, c.emit("sigmoid", {castTo(c, c.input(3), Dtype::f32)}), dtype));
}

namespace {

// Streams [..., count, h], and gates as [..., count, 1] or [..., count, h] beside them. ranks: of the grouped
// streams.
struct Streams {
  ValueId streams = kNoValue;
  int rank = -1;
  Streams(MapContext& c, ValueId x) {
    const int64_t branches = c.integer("num_branches", 0);
    rank = c.inferredRank(x);
    if (rank < 0) c.unsupported("streams whose rank is not known");
    streams = castTo(c, x, Dtype::f32);
    if (branches > 0) streams = branchesApart(c, streams, c.integersValue({branches}));
    if (branches > 0) ++rank;
  }
  ValueId gates(MapContext& c, ValueId given) const {
    const int own = c.inferredRank(given);
    if (own < 0) c.unsupported("gates whose rank is not known");
    const ValueId gate = castTo(c, given, Dtype::f32);
    if (own == rank) return gate;
    // [..., count] or [..., count * h]
    const ValueId outer = c.emit("shape", {streams}, {{"end", int64_t{-1}}});
    return reshaped(c, gate, joinedShape(c, {outer, c.integersValue({-1})}));
  }
};

}  // namespace

// The weighted sum of the streams.
void mapHyperConnectionPreMix(MapContext& c) {
  const Streams s(c, c.input(0));
  if (c.failed()) return;
  const ValueId weighted = c.emit("mul", {s.streams, s.gates(c, c.input(1))});
  ValueId y = c.emit("reduce_sum", {weighted, c.integersValue({-2})}, {{"keepdims", int64_t{0}}});
  const double scale = c.real("reduction_scale", 1);
  if (scale != 1) y = c.emit("mul", {y, c.number(scale, y)});
  c.setOutput(0, castTo(c, y, c.dtypeOr(c.input(0), Dtype::f32)));
}

// Streams mixed with each other, and a branch's output added to each.
void mapHyperConnectionPostMix(MapContext& c) {
  const Streams s(c, c.input(0));
  if (c.failed()) return;
  ValueId y = s.streams;
  if (c.hasInput(3)) {
    const ValueId mix = c.emit("transpose", {castTo(c, c.input(3), Dtype::f32)},
                               {{"perm", [&] {
                                   std::vector<int64_t> order;
                                   for (int i = 0; i < s.rank; ++i) order.push_back(i);
                                   std::swap(order[order.size() - 1], order[order.size() - 2]);
                                   return order;
                                 }()}});
    y = c.emit("matmul", {mix, y});
  }
  const ValueId output = unsqueezed(c, castTo(c, c.input(1), Dtype::f32), {-2});
  y = c.emit("add", {y, c.emit("mul", {s.gates(c, c.input(2)), output})});
  c.setOutput(0, castTo(c, reshaped(c, y, c.emit("shape", {c.input(0)})), c.dtypeOr(c.input(0), Dtype::f32)));
}

// Boxes y1, x1, y2, x2 [k, 4] (0 to 1 are the corners) of images x [n, c, h, w], each sampled on a grid of
// crop_size, whose corners are the box's.
void mapCropAndResize(MapContext& c) {
  const std::string mode = c.text("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest")
    return c.fail(DiagnosticId::badAttribute, "mode is " + quotedText(mode));
  const ValueId x = c.input(0), boxes = c.input(1);
  const Dtype dtype = c.dtypeOr(x, Dtype::f32);
  const ValueId images = castTo(c, c.input(2), Dtype::i64), size = castTo(c, c.input(3), Dtype::i64);
  const auto column = [&](int64_t i) {
    return c.emit("gather", {boxes, c.integersValue({i})}, {{"axis", int64_t{1}}});  // [k, 1]
  };
  // Places [k, m] along an axis of so many pixels, real.
  const auto placesOf = [&](int64_t axis, ValueId begin, ValueId end) {
    const ValueId pixels = castTo(c, scalarOf(c, dimAt(c, x, axis + 2)), dtype);
    const ValueId last = c.emit("sub", {pixels, c.number(1, pixels)});
    const ValueId count = c.emit("gather", {size, c.integerValue(axis)}, {{"axis", int64_t{0}}});
    const ValueId steps = castTo(c, counting(c, count), dtype);
    const ValueId gaps = castTo(c, c.emit("sub", {count, c.integerValue(1)}), dtype);
    const ValueId zero = c.number(0, gaps), one = c.number(1, gaps);
    const ValueId isSingle = c.emit("equal", {gaps, zero});
    const ValueId between = c.emit(
        "div", {c.emit("mul", {c.emit("sub", {end, begin}), last}), c.emit("where", {isSingle, one, gaps})});
    const ValueId spread = c.emit("add", {c.emit("mul", {begin, last}), c.emit("mul", {between, steps})});
    const ValueId middle =
        c.emit("mul", {c.emit("mul", {c.emit("add", {begin, end}), c.number(0.5, gaps)}), last});
    return std::pair(c.emit("where", {isSingle, middle, spread}), last);
  };
  const auto [rows, lastRow] = placesOf(0, column(0), column(2));
  const auto [columns, lastColumn] = placesOf(1, column(1), column(3));
  const auto insideOf = [&](ValueId places, ValueId last) {
    return c.emit("logical_and", {c.emit("greater_equal", {places, c.number(0, places)}),
                                  c.emit("less_equal", {places, last})});
  };
  const ValueId inside =
      c.emit("logical_and", {unsqueezed(c, insideOf(rows, lastRow), {2}),
                             unsqueezed(c, insideOf(columns, lastColumn), {1})});  // [k, h, w]
  const auto pixel = [&](ValueId place, ValueId last) {
    return castTo(c, c.emit("clip", {place, c.number(0, place), last}), Dtype::i64);
  };
  // [k, c, h, w] of the pixels in those rows [k, h] and columns [k, w].
  const ValueId channelsLast = transposed(c, x, {0, 2, 3, 1});
  const auto sampled = [&](ValueId row, ValueId at) {
    const ValueId shape = c.emit("shape", {inside});
    const auto wide = [&](ValueId places, std::vector<int64_t> axes) {
      return unsqueezed(c, c.emit("expand", {unsqueezed(c, places, std::move(axes)), shape}), {3});
    };
    const ValueId index =
        c.emit("concat", {wide(images, {1, 2}), wide(row, {2}), wide(at, {1})}, {{"axis", int64_t{3}}});
    return transposed(c, c.emit("gather_nd", {channelsLast, index}), {0, 3, 1, 2});
  };
  ValueId y;
  if (mode == "nearest") {
    const auto nearest = [&](ValueId places, ValueId last) {
      const ValueId half = c.number(0.5, places);
      return pixel(c.emit("floor", {c.emit("add", {places, half})}), last);
    };
    y = sampled(nearest(rows, lastRow), nearest(columns, lastColumn));
  } else {
    const ValueId top = c.emit("floor", {rows}), left = c.emit("floor", {columns});
    const ValueId down = unsqueezed(c, c.emit("sub", {rows, top}), {1, 3}),
                  right = unsqueezed(c, c.emit("sub", {columns, left}), {1, 2});
    const auto ceiling = [&](ValueId places) { return c.emit("ceil", {places}); };
    const auto mixed = [&](ValueId a, ValueId b, ValueId share) {
      return c.emit("add", {a, c.emit("mul", {c.emit("sub", {b, a}), share})});
    };
    const auto line = [&](ValueId places) {
      const ValueId row = pixel(places, lastRow);
      return mixed(sampled(row, pixel(left, lastColumn)), sampled(row, pixel(ceiling(columns), lastColumn)),
                   right);
    };
    y = mixed(line(top), line(ceiling(rows)), down);
  }
  const ValueId outside = c.number(c.real("extrapolation_value", 0), y);
  c.setOutput(0, c.emit("where", {unsqueezed(c, inside, {1}), y, outside}));
}

// What onnxruntime still knows of the experiments of 2017.
void mapAffine(MapContext& c) {
  const ValueId x = c.input(0);
  c.setOutput(0, c.emit("add", {c.emit("mul", {x, c.number(c.real("alpha", 1), x)}),
                                c.number(c.real("beta", 0), x)}));
}

void mapScale(MapContext& c) {
  const ValueId x = c.input(0);
  c.setOutput(0, c.emit("mul", {x, c.number(c.real("scale", 1), x)}));
}

// scale * x + bias of the channel
void mapImageScaler(MapContext& c) {
  const ValueId x = c.input(0);
  const std::vector<double> bias = c.reals("bias");
  const auto count = static_cast<int64_t>(bias.size());
  const ValueId shift =
      castTo(c, c.constant(HostTensor::vectorReal(Dtype::f32, bias).reshaped({count, 1, 1})),
             c.dtypeOr(x, Dtype::f32));
  c.setOutput(0, c.emit("add", {c.emit("mul", {x, c.number(c.real("scale", 1), x)}), shift}));
}

// alpha * tanh(beta * x)
void mapScaledTanh(MapContext& c) {
  const ValueId x = c.input(0);
  const ValueId inner = c.emit("tanh", {c.emit("mul", {x, c.number(c.real("beta", 1), x)})});
  c.setOutput(0, c.emit("mul", {inner, c.number(c.real("alpha", 1), x)}));
}

// alpha * ln(1 + exp(beta * x))
void mapParametricSoftplus(MapContext& c) {
  const ValueId x = c.input(0);
  const ValueId inner = c.emit("softplus", {c.emit("mul", {x, c.number(c.real("beta", 1), x)})});
  c.setOutput(0, c.emit("mul", {inner, c.number(c.real("alpha", 1), x)}));
}

// border: left, top, right, bottom of x [n, c, h, w]; with a scale [height, width] behind left and top.
void mapCrop(MapContext& c) {
  const std::vector<int64_t> border = c.integers("border"), scale = c.integers("scale");
  if (border.size() != 4 || (!scale.empty() && scale.size() != 2))
    return c.fail(DiagnosticId::badAttribute, "border has four elements, scale none or two");
  const ValueId x = c.input(0);
  const ValueId begins = c.integersValue({border[1], border[0]}), axes = c.integersValue({2, 3});
  const ValueId sizes = c.emit("shape", {x}, {{"start", int64_t{2}}});
  const ValueId ends = scale.empty() ? c.emit("sub", {sizes, c.integersValue({border[3], border[2]})})
                                     : c.integersValue({border[1] + scale[0], border[0] + scale[1]});
  c.setOutput(0, c.emit("slice", {x, begins, ends, axes}));
}

}  // namespace dyn::onnx
