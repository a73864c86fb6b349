// Fourier transforms, and the filters that follow them.
#include <cmath>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

Attributes sides(MapContext& c, int64_t onesided) {
  return {{"inverse", c.integer("inverse", 0)}, {"onesided", c.integer("onesided", onesided)}};
}

}  // namespace

// Before opset 20 the axis was an attribute.
void mapDft(MapContext& c) {
  const ValueId axis = c.version() < 20 ? c.integerValue(c.integer("axis", 1)) : c.optionalInput(2);
  c.setOutput(0, c.emit("dft", {c.input(0), c.optionalInput(1), axis}, sides(c, 0)));
}

// The frames, each weighted by the window, then a transform of each: signal [b, n, 1 or 2] → [b, frames,
// length or its half, 2].
void mapStft(MapContext& c) {
  const ValueId signal = c.input(0), step = castTo(c, c.input(1), Dtype::i64);
  const auto sizeOf = [&](ValueId value, int64_t axis) { return scalarOf(c, dimAt(c, value, axis)); };
  const ValueId size = sizeOf(signal, 1);
  ValueId length = size;
  if (c.hasInput(2)) length = sizeOf(c.input(2), 0);
  if (c.hasInput(3)) length = castTo(c, c.input(3), Dtype::i64);
  c.requireInRange(step, c.integerValue(1), kNoValue, "frame_step");
  c.requireInRange(length, c.integerValue(1), size, "frame_length");
  const ValueId hops = c.emit("div", {c.emit("sub", {size, length}), step});
  const ValueId frames = c.emit("add", {hops, c.integerValue(1)});
  const ValueId starts = c.emit("mul", {counting(c, frames), step});
  const ValueId places = c.emit("add", {unsqueezed(c, starts, {1}), counting(c, length)});
  ValueId framed = c.emit("gather", {signal, places}, {{"axis", int64_t{1}}});
  if (c.hasInput(2)) framed = c.emit("mul", {framed, unsqueezed(c, c.input(2), {1})});
  c.setOutput(0, c.emit("dft", {framed, kNoValue, c.integerValue(2)}, sides(c, 1)));
}

// Triangles over the bins of a spectrum, equally far apart on the mel scale, 2595 log10(1 + hertz / 700); in
// f64, as bins are rounded down.
void mapMelWeightMatrix(MapContext& c) {
  const auto real = [&](double value) { return c.numberOf(value, Dtype::f64); };
  const auto ofReal = [&](std::string_view op, ValueId a, double b) { return c.emit(op, {a, real(b)}); };
  const auto f64 = [&](ValueId value) { return castTo(c, value, Dtype::f64); };
  const auto countUp = [&](ValueId end) { return f64(counting(c, end)); };
  const double perDecade = 2595 / std::log(10.0);
  const auto mel = [&](ValueId hertz) {
    return ofReal("mul", c.emit("log", {ofReal("add", ofReal("div", f64(hertz), 700), 1)}), perDecade);
  };
  const ValueId length = castTo(c, c.input(1), Dtype::i64);
  c.requireInRange(c.input(0), c.integerValue(0), kNoValue, "num_mel_bins");
  c.requireInRange(length, c.integerValue(1), kNoValue, "dft_length");
  const ValueId edges = c.emit("add", {castTo(c, c.input(0), Dtype::i64), c.integerValue(2)});
  const ValueId low = mel(c.input(3)), high = mel(c.input(4));
  const ValueId step = c.emit("div", {c.emit("sub", {high, low}), f64(edges)});
  const ValueId mels = c.emit("add", {c.emit("mul", {countUp(edges), step}), low});
  const ValueId hertz = ofReal("mul", ofReal("sub", c.emit("exp", {ofReal("div", mels, perDecade)}), 1), 700);
  const ValueId scaled = c.emit("mul", {hertz, ofReal("add", f64(length), 1)});
  const ValueId bins = c.emit("floor", {c.emit("div", {scaled, f64(c.input(2))})});
  const auto cut = [&](ValueId value, int64_t start, int64_t end) {
    return c.emit("slice", {value, c.integersValue({start}), c.integersValue({end}), c.integersValue({0})});
  };
  // Side k of the triangles goes from edge k up, or down, to edge k + 1: at a bin, the way from its foot
  // times the side's slope. One that is upright has 1 at its edge and more than 1 on the triangle's side.
  // Where edges go back, a rising side has nothing, and a falling one is upright at its first edge. Slopes
  // are made once for a side.
  const ValueId from = cut(bins, 0, -1), to = cut(bins, 1, INT64_MAX), run = c.emit("sub", {to, from});
  const ValueId isUpright = c.emit("less_equal", {run, real(0)}), isBack = c.emit("less", {run, real(0)});
  const auto ifUpright = [&](ValueId a, ValueId b) { return c.emit("where", {isUpright, a, b}); };
  const ValueId slope = ifUpright(real(2), c.emit("div", {real(1), run}));
  const ValueId atEdge = ifUpright(c.emit("sub", {real(1), c.emit("mul", {run, real(2)})}), real(0));
  const ValueId unlessBack = c.emit("where", {isBack, real(-1e300), atEdge});
  const ValueId half = c.emit("add", {c.emit("div", {length, c.integerValue(2)}), c.integerValue(1)});
  const ValueId bin = unsqueezed(c, countUp(half), {1});
  const auto sideAt = [&](ValueId way, ValueId shift, int64_t start, int64_t end) {
    return c.emit("add", {c.emit("mul", {way, cut(slope, start, end)}), cut(shift, start, end)});
  };
  const ValueId rises = sideAt(c.emit("sub", {bin, cut(bins, 0, -2)}), unlessBack, 0, -1);
  const ValueId falls = sideAt(c.emit("sub", {cut(bins, 2, INT64_MAX), bin}), atEdge, 1, INT64_MAX);
  const ValueId lower = c.emit("where", {c.emit("less", {rises, falls}), rises, falls});
  const ValueId y = c.emit("relu", {lower});
  c.setOutput(0, castTo(c, y, c.dtype("output_datatype").value_or(Dtype::f32)));
}

}  // namespace dyn::onnx
