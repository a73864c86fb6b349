// Attention and rotary positions (opset 23 and later), written out in products, softmax and masks.
#include "frontends/onnx/map/attention_map.h"

namespace dyn::onnx {

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
  c.requireInRange(a.lengths, c.integerValue(0), dimAt(c, a.k, 2), "nonpad_kv_seqlen");
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
  if (threeAxes) y = joinHeads(c, y);
  c.setOutput(0, y);
}

void mapRotaryEmbedding(MapContext& c) {
  const ValueId x = c.input(0);
  ValueId cosines = c.input(1), sines = c.input(2);
  const int64_t heads = c.integer("num_heads", 0);
  const int rank = c.inferredRank(x);
  const bool threeAxes = rank == 3 || (rank < 0 && heads != 0);
  const int64_t rotated = c.integer("rotary_embedding_dim", 0);
  const bool interleaved = c.integer("interleaved", 0) != 0;
  if (threeAxes && heads == 0) return c.fail(DiagnosticId::badAttribute, "num_heads is missing");
  if (c.hasInput(3)) {
    cosines = c.emit("gather", {cosines, c.input(3)}, {{"axis", int64_t{0}}});
    sines = c.emit("gather", {sines, c.input(3)}, {{"axis", int64_t{0}}});
  }
  // Three axes are seen as [b, s, heads, d], four are [b, heads, s, d]: the angles get a 1 for the heads.
  const ValueId y = threeAxes ? headsApart(c, x, heads) : x;
  const int64_t headAxis = threeAxes ? 2 : 1;
  cosines = unsqueezed(c, cosines, {headAxis});
  sines = unsqueezed(c, sines, {headAxis});

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
    const ValueId pairs =
        c.emit("concat", {unsqueezed(c, real, {4}), unsqueezed(c, imaginary, {4})}, lastAxis);
    turned = reshaped(c, pairs, c.emit("shape", {part}));
  } else {
    turned = c.emit("concat", {real, imaginary}, lastAxis);
  }
  if (rotated != 0) turned = c.emit("concat", {turned, sliced(y, rotated, all, 1)}, lastAxis);
  c.setOutput(0, threeAxes ? reshaped(c, turned, c.emit("shape", {x})) : turned);
}

}  // namespace dyn::onnx
