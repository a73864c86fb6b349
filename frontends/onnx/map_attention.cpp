// Attention and rotary positions (opset 23 and later), written out in products, softmax and masks.
#include <cmath>
#include <limits>

#include "frontends/onnx/map_functions.h"

namespace dyn::onnx {
namespace {

ValueId dimAt(MapContext& c, ValueId x, int64_t axis) {
  return c.emit("shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

ValueId joinedShape(MapContext& c, const std::vector<ValueId>& pieces) {
  return c.emit("concat", pieces, {{"axis", int64_t{0}}});
}

ValueId reshaped(MapContext& c, ValueId x, ValueId shape) {
  return c.emit("reshape", {x, shape}, {{"allowzero", int64_t{1}}});
}

ValueId transposed(MapContext& c, ValueId x, std::vector<int64_t> perm) {
  return c.emit("transpose", {x}, {{"perm", std::move(perm)}});
}

ValueId counting(MapContext& c, ValueId size) {
  return c.emit("range",
                {c.integerValue(0), c.emit("reshape", {size, c.integersValue({})}), c.integerValue(1)});
}

// [b, s, heads * d] → [b, heads, s, d]
ValueId splitHeads(MapContext& c, ValueId x, int64_t heads) {
  const ValueId each = c.emit("div", {dimAt(c, x, 2), c.integersValue({heads})});
  const ValueId shape =
      joinedShape(c, {c.emit("shape", {x}, {{"end", int64_t{2}}}), c.integersValue({heads}), each});
  return transposed(c, reshaped(c, x, shape), {0, 2, 1, 3});
}

struct AttentionMap {
  MapContext& c;
  int64_t queryHeads = 0, keyHeads = 0;  // 0: operands have four axes
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;
  ValueId past = kNoValue, lengths = kNoValue;
  ValueId bias = kNoValue;
  bool rowsMayBeEmpty = false;

  ValueId minusInfinity() { return c.number(-std::numeric_limits<double>::infinity(), q); }
  ValueId asBias(ValueId allowed) { return c.emit("where", {allowed, c.number(0, q), minusInfinity()}); }
  void addBias(ValueId more) { bias = bias == kNoValue ? more : c.emit("add", {bias, more}); }

  void scaleOperands();
  void addMask(ValueId mask);
  void addPositions(bool causal, int64_t left, int64_t right);
  bool sameHeads() const { return queryHeads != 0 && queryHeads == keyHeads; }
  // Query heads in groups that share a key head: [b, h, s, d] → [b, kh, h / kh, s, d].
  ValueId grouped(ValueId x);
  ValueId products();
  ValueId weighted(ValueId weights);
};

void AttentionMap::scaleOperands() {
  const Dtype dtype = c.dtypeOr(q, Dtype::f32);
  const bool narrow = dtype == Dtype::f16 || dtype == Dtype::bf16;
  // Narrow types would overflow with the whole factor on one side: its root goes to both.
  ValueId factor = kNoValue;
  if (c.hasAttribute("scale")) {
    const double scale = c.real("scale", 1);
    factor = c.number(narrow ? std::sqrt(scale) : scale, q);
  } else {
    factor = c.emit("reciprocal", {c.emit("sqrt", {castTo(c, dimAt(c, q, 3), Dtype::f32)})});
    if (narrow) factor = c.emit("sqrt", {factor});
    factor = castTo(c, factor, dtype);
  }
  q = c.emit("mul", {q, factor});
  if (narrow) k = c.emit("mul", {k, factor});
}

void AttentionMap::addMask(ValueId mask) {
  if (c.dtypeOr(mask, Dtype::f32) == Dtype::boolean) mask = asBias(mask);
  // A mask may be shorter than the keys: the rest does not take part.
  const ValueId missing = c.emit("sub", {dimAt(c, k, 2), c.emit("shape", {mask}, {{"start", int64_t{-1}}})});
  const ValueId pads = joinedShape(c, {c.integersValue({0}), missing});
  addBias(c.emit("pad", {mask, pads, minusInfinity(), c.integersValue({-1})}));
  rowsMayBeEmpty = true;
}

void AttentionMap::addPositions(bool causal, int64_t left, int64_t right) {
  const ValueId keys = counting(c, dimAt(c, k, 2));
  if (causal || left >= 0 || right >= 0) {
    ValueId rows = c.emit("unsqueeze", {counting(c, dimAt(c, q, 2)), c.integersValue({1})});
    if (past != kNoValue) rows = c.emit("add", {rows, dimAt(c, past, 2)});
    if (past == kNoValue && lengths != kNoValue) {
      const ValueId offset = c.emit("sub", {lengths, dimAt(c, q, 2)});
      rows = c.emit("add", {rows, c.emit("unsqueeze", {offset, c.integersValue({1, 2, 3})})});
      rowsMayBeEmpty = true;
    }
    const ValueId ahead = c.emit("sub", {rows, keys});  // how far the query is past the key
    if (causal) addBias(asBias(c.emit("greater_equal", {ahead, c.integerValue(0)})));
    if (left >= 0) addBias(asBias(c.emit("less_equal", {ahead, c.integerValue(left)})));
    if (right >= 0) addBias(asBias(c.emit("greater_equal", {ahead, c.integerValue(-right)})));
    rowsMayBeEmpty = rowsMayBeEmpty || left >= 0 || right >= 0;
  }
  if (lengths != kNoValue) {
    const ValueId counts = c.emit("unsqueeze", {lengths, c.integersValue({1, 2, 3})});
    addBias(asBias(c.emit("less", {keys, counts})));
    rowsMayBeEmpty = true;
  }
}

ValueId AttentionMap::grouped(ValueId x) {
  const ValueId heads = dimAt(c, k, 1);
  const ValueId group = c.emit("div", {dimAt(c, x, 1), heads});
  return reshaped(
      c, x, joinedShape(c, {dimAt(c, x, 0), heads, group, c.emit("shape", {x}, {{"start", int64_t{2}}})}));
}

ValueId AttentionMap::products() {
  const Attributes transposeB = {{"transpose_b", int64_t{1}}};
  if (sameHeads()) return c.emit("matmul", {q, k}, transposeB);
  const ValueId scores =
      c.emit("matmul", {grouped(q), c.emit("unsqueeze", {k, c.integersValue({2})})}, transposeB);
  return reshaped(c, scores, joinedShape(c, {c.emit("shape", {q}, {{"end", int64_t{3}}}), dimAt(c, k, 2)}));
}

ValueId AttentionMap::weighted(ValueId weights) {
  if (sameHeads()) return c.emit("matmul", {weights, v});
  const ValueId y = c.emit("matmul", {grouped(weights), c.emit("unsqueeze", {v, c.integersValue({2})})});
  return reshaped(c, y, joinedShape(c, {c.emit("shape", {q}, {{"end", int64_t{3}}}), dimAt(c, v, 3)}));
}

}  // namespace

void mapAttention(MapContext& c) {
  AttentionMap a{c};
  a.queryHeads = c.integer("q_num_heads", 0);
  a.keyHeads = c.integer("kv_num_heads", 0);
  a.q = c.input(0);
  a.k = c.input(1);
  a.v = c.input(2);
  const bool threeAxes = a.queryHeads > 0;
  if (threeAxes && a.keyHeads < 1)
    c.fail(DiagnosticId::badAttribute, "q_num_heads is given but kv_num_heads is not");
  if (threeAxes && !c.failed()) {
    a.q = splitHeads(c, a.q, a.queryHeads);
    a.k = splitHeads(c, a.k, a.keyHeads);
    a.v = splitHeads(c, a.v, a.keyHeads);
  }
  a.past = c.optionalInput(4);
  a.lengths = c.optionalInput(6);
  if (a.past != kNoValue) {
    a.k = c.emit("concat", {a.past, a.k}, {{"axis", int64_t{2}}});
    a.v = c.emit("concat", {c.input(5), a.v}, {{"axis", int64_t{2}}});
  }
  if (c.wantsOutput(1)) c.setOutput(1, a.k);
  if (c.wantsOutput(2)) c.setOutput(2, a.v);
  a.scaleOperands();
  if (c.hasInput(3)) a.addMask(c.input(3));
  a.addPositions(c.integer("is_causal", 0) != 0, c.integer("left_window_size", -1),
                 c.integer("right_window_size", -1));

  ValueId scores = a.products();
  const int64_t mode = c.integer("qk_matmul_output_mode", 0);
  ValueId shown = scores;
  const double cap = c.real("softcap", 0);
  if (cap != 0) {
    scores = c.emit(
        "mul", {c.emit("tanh", {c.emit("div", {scores, c.number(cap, scores)})}), c.number(cap, scores)});
    if (mode == 1) shown = scores;
  }
  if (a.bias != kNoValue) scores = c.emit("add", {scores, a.bias});
  if (mode == 2) shown = scores;
  const Dtype dtype = c.dtypeOr(a.q, Dtype::f32);
  const std::optional<Dtype> precision =
      c.integer("softmax_precision", 0) != 0 ? c.dtype("softmax_precision") : std::nullopt;
  ValueId weights =
      c.emit("softmax", {precision ? castTo(c, scores, *precision) : scores}, {{"axis", int64_t{-1}}});
  weights = castTo(c, weights, dtype);
  if (a.bias != kNoValue && a.rowsMayBeEmpty) {
    // A query without any key gets zeros, not 0 / 0.
    const ValueId most = c.emit("reduce_max", {a.bias, c.integersValue({-1})}, {{"keepdims", int64_t{1}}});
    const ValueId empty = c.emit("equal", {most, a.minusInfinity()});
    weights = c.emit("where", {empty, c.number(0, weights), weights});
  }
  if (mode == 3) shown = weights;
  if (c.wantsOutput(3)) c.setOutput(3, shown);
  ValueId y = a.weighted(weights);
  if (threeAxes) {
    y = transposed(c, y, {0, 2, 1, 3});
    const ValueId columns = c.emit("mul", {dimAt(c, y, 2), dimAt(c, y, 3)});
    y = reshaped(c, y, joinedShape(c, {c.emit("shape", {y}, {{"end", int64_t{2}}}), columns}));
  }
  c.setOutput(0, y);
}

void mapRotaryEmbedding(MapContext& c) {
  const ValueId x = c.input(0);
  ValueId cosines = c.input(1), sines = c.input(2);
  const int64_t heads = c.integer("num_heads", 0);
  const int rank = c.rankOf(x);
  const bool threeAxes = rank == 3 || (rank < 0 && heads != 0);
  const int64_t rotated = c.integer("rotary_embedding_dim", 0);
  const bool interleaved = c.integer("interleaved", 0) != 0;
  if (threeAxes && heads == 0) return c.fail(DiagnosticId::badAttribute, "num_heads is missing");
  if (c.hasInput(3)) {
    cosines = c.emit("gather", {cosines, c.input(3)}, {{"axis", int64_t{0}}});
    sines = c.emit("gather", {sines, c.input(3)}, {{"axis", int64_t{0}}});
  }
  // Three axes are seen as [b, s, heads, d], four are [b, heads, s, d]: the angles get a 1 for the heads.
  ValueId y = x;
  if (threeAxes) {
    const ValueId each = c.emit("div", {dimAt(c, x, 2), c.integersValue({heads})});
    y = reshaped(
        c, x, joinedShape(c, {c.emit("shape", {x}, {{"end", int64_t{2}}}), c.integersValue({heads}), each}));
  }
  const ValueId headAxis = c.integersValue({threeAxes ? 2 : 1});
  cosines = c.emit("unsqueeze", {cosines, headAxis});
  sines = c.emit("unsqueeze", {sines, headAxis});

  const auto sliced = [&](ValueId value, int64_t start, ValueId end, int64_t step) {
    return c.emit("slice",
                  {value, c.integersValue({start}), end, c.integersValue({-1}), c.integersValue({step})});
  };
  const ValueId all = c.integersValue({INT64_MAX});
  const ValueId part = rotated == 0 ? y : sliced(y, 0, c.integersValue({rotated}), 1);
  ValueId first, second;
  if (interleaved) {
    first = sliced(part, 0, all, 2);
    second = sliced(part, 1, all, 2);
  } else {
    const std::vector<ValueId> halves =
        c.emitMany("split", {part}, {{"axis", int64_t{-1}}, {"parts", int64_t{2}}}, 2);
    first = halves[0];
    second = halves[1];
  }
  const ValueId real = c.emit("sub", {c.emit("mul", {cosines, first}), c.emit("mul", {sines, second})});
  const ValueId imaginary = c.emit("add", {c.emit("mul", {sines, first}), c.emit("mul", {cosines, second})});
  const Attributes lastAxis = {{"axis", int64_t{-1}}};
  ValueId turned;
  if (interleaved) {
    const ValueId axis = c.integersValue({4});
    const ValueId pairs = c.emit(
        "concat", {c.emit("unsqueeze", {real, axis}), c.emit("unsqueeze", {imaginary, axis})}, lastAxis);
    turned = reshaped(c, pairs, c.emit("shape", {part}));
  } else {
    turned = c.emit("concat", {real, imaginary}, lastAxis);
  }
  if (rotated != 0) turned = c.emit("concat", {turned, sliced(y, rotated, all, 1)}, lastAxis);
  c.setOutput(0, threeAxes ? reshaped(c, turned, c.emit("shape", {x})) : turned);
}

}  // namespace dyn::onnx
