// com.microsoft: the attention operators that ONNX Runtime's optimiser and its exporters of language models
// write.
#include "frontends/onnx/map/attention_map.h"

namespace dyn::onnx {
namespace {

constexpr double kDefaultFilter = -10000;

// Element `index` of axis 3 of [b, s, heads, parts, d], as [b, heads, s, d].
ValueId packedPart(MapContext& c, ValueId packed, int64_t index) {
  return transposed(c, c.emit("gather", {packed, c.integerValue(index)}, {{"axis", int64_t{3}}}),
                    {0, 2, 1, 3});
}

// 0 where the mask says 1, the filter value elsewhere.
ValueId filterOf(MapContext& c, ValueId mask, ValueId like) {
  const ValueId filter = c.number(c.real("mask_filter_value", kDefaultFilter), like);
  const ValueId isOut = c.emit("equal", {mask, c.number(0, mask)});
  return c.emit("where", {isOut, filter, c.number(0, like)});
}

// Masks of Attention and MultiHeadAttention, as what is added to the scores [b, heads, s, total]:
// [b] key counts, [b, total], [b, s, total], [b, 1, most, most].
void addPaddingMask(AttentionMap& a, ValueId mask) {
  MapContext& c = a.c;
  const ValueId total = dimAt(c, a.k, 2);
  switch (c.inferredRank(mask)) {
    case 1: {
      // Other vectors (2 or 3 numbers per row) do not fit this shape and are refused when it runs.
      const ValueId counts = reshaped(c, mask, joinedShape(c, {dimAt(c, a.q, 0), c.integersValue({1})}));
      const ValueId inside = c.emit("less", {counting(c, total), castTo(c, counts, Dtype::i64)});
      return a.addBias(unsqueezed(c, filterOf(c, castTo(c, inside, Dtype::i32), a.q), {1, 2}));
    }
    case 2:
      return a.addBias(unsqueezed(c, filterOf(c, mask, a.q), {1, 2}));
    case 3:
      return a.addBias(unsqueezed(c, filterOf(c, mask, a.q), {1}));
    case 4: {
      // The last rows and all columns that there are keys for.
      const ValueId first = c.emit("sub", {total, dimAt(c, a.q, 2)});
      const ValueId starts = joinedShape(c, {first, c.integersValue({0})});
      const ValueId part =
          c.emit("slice", {mask, starts, joinedShape(c, {total, total}), c.integersValue({2, 3})});
      return a.addBias(filterOf(c, part, a.q));
    }
    default:
      c.unsupported("an attention mask whose rank is not known");
  }
}

// Keys after the query's own place are left out; queries are the last of the keys.
void addUnidirectional(AttentionMap& a) {
  MapContext& c = a.c;
  const ValueId total = dimAt(c, a.k, 2), steps = dimAt(c, a.q, 2);
  const ValueId places = c.emit("add", {counting(c, steps), c.emit("sub", {total, steps})});
  const ValueId allowed = c.emit("less_equal", {counting(c, total), unsqueezed(c, places, {1})});
  a.addBias(a.asBias(allowed));
}

ValueId softmaxOf(MapContext& c, ValueId scores) {
  return c.emit("softmax", {scores}, {{"axis", int64_t{-1}}});
}

// The end that all have in common: softmax of the scores, the weighted values, heads joined.
void setAttention(AttentionMap& a) {
  MapContext& c = a.c;
  a.scaleOperands();
  ValueId scores = a.products();
  if (a.bias != kNoValue) scores = c.emit("add", {scores, a.bias});
  c.setOutput(0, joinHeads(c, a.weighted(softmaxOf(c, scores))));
}

// Columns of a product or bias as q, k, v: by sizes given, or in three equal parts.
std::vector<ValueId> threeParts(MapContext& c, ValueId x, const std::vector<int64_t>& sizes) {
  const Attributes last = {{"axis", int64_t{-1}}};
  if (sizes.empty()) return c.emitMany("split", {x}, {{"axis", int64_t{-1}}, {"parts", int64_t{3}}}, 3);
  return c.emitMany("split", {x, c.integersValue(sizes)}, last, 3);
}

// [2, b, heads, past, d] before the keys and values; the same form is an output.
void joinPast(AttentionMap& a, ValueId past, int presentOutput) {
  MapContext& c = a.c;
  const Attributes first = {{"axis", int64_t{0}}}, along = {{"axis", int64_t{2}}};
  if (past != kNoValue) {
    a.k = c.emit("concat", {c.emit("gather", {past, c.integerValue(0)}, first), a.k}, along);
    a.v = c.emit("concat", {c.emit("gather", {past, c.integerValue(1)}, first), a.v}, along);
  }
  if (c.wantsOutput(presentOutput))
    c.setOutput(presentOutput, c.emit("concat", {unsqueezed(c, a.k, {0}), unsqueezed(c, a.v, {0})}, first));
}

// What follows the projection, in Attention and QAttention: qkv [b, s, 3 * heads * d].
void attend(MapContext& c, ValueId qkv, const std::vector<int64_t>& sizes, ValueId mask, ValueId past,
            ValueId bias) {
  if (c.integer("do_rotary", 0) != 0) c.unsupported("rotary positions inside Attention");
  if (c.integer("past_present_share_buffer", 0) != 0) c.unsupported("a past that shares its buffer");
  AttentionMap a{c};
  a.queryHeads = a.keyHeads = c.requiredInteger("num_heads");
  if (a.queryHeads < 1) c.fail(DiagnosticId::badAttribute, "num_heads must be positive");
  if (c.failed()) return;
  const std::vector<ValueId> parts = threeParts(c, qkv, sizes);
  a.q = splitHeads(c, parts[0], a.queryHeads);
  a.k = splitHeads(c, parts[1], a.queryHeads);
  a.v = splitHeads(c, parts[2], a.queryHeads);
  joinPast(a, past, 1);
  if (mask != kNoValue) addPaddingMask(a, mask);
  if (c.integer("unidirectional", 0) != 0) addUnidirectional(a);
  if (bias != kNoValue) a.addBias(bias);
  setAttention(a);
}

struct Rotation {
  ValueId cosines, sines;  // [rows, half]
  bool interleaved = false;
};

// x [b, heads, s, d] turned by its angles, of which each position has its own [b, s, half]; dims past them
// stay.
ValueId turnedBy(MapContext& c, ValueId x, ValueId cosinesOfRows, ValueId sinesOfRows,
                 const Rotation& rotation) {
  const Attributes last = {{"axis", int64_t{-1}}};
  const ValueId cosines = unsqueezed(c, cosinesOfRows, {1}), sines = unsqueezed(c, sinesOfRows, {1});
  const ValueId half = dimAt(c, rotation.cosines, 1), whole = c.emit("add", {half, half});
  const auto sliced = [&](ValueId value, ValueId start, ValueId end, int64_t step) {
    return c.emit("slice", {value, start, end, c.integersValue({-1}), c.integersValue({step})});
  };
  const ValueId zero = c.integersValue({0}), one = c.integersValue({1}), all = c.integersValue({INT64_MAX});
  const ValueId part = sliced(x, zero, whole, 1);
  const ValueId first = rotation.interleaved ? sliced(part, zero, all, 2) : sliced(part, zero, half, 1);
  const ValueId second = rotation.interleaved ? sliced(part, one, all, 2) : sliced(part, half, all, 1);
  const ValueId real = c.emit("sub", {c.emit("mul", {cosines, first}), c.emit("mul", {sines, second})});
  const ValueId imaginary = c.emit("add", {c.emit("mul", {sines, first}), c.emit("mul", {cosines, second})});
  ValueId turned;
  if (rotation.interleaved) {
    turned = c.emit("concat", {unsqueezed(c, real, {4}), unsqueezed(c, imaginary, {4})}, last);
    turned = reshaped(c, turned, c.emit("shape", {part}));
  } else {
    turned = c.emit("concat", {real, imaginary}, last);
  }
  return c.emit("concat", {turned, sliced(x, whole, all, 1)}, last);
}

// The angles of the positions [b, s].
ValueId rotated(MapContext& c, ValueId x, ValueId positions, const Rotation& rotation) {
  const auto rows = [&](ValueId table) {
    return c.emit("gather", {table, positions}, {{"axis", int64_t{0}}});
  };
  return turnedBy(c, x, rows(rotation.cosines), rows(rotation.sines), rotation);
}

// [b, s, heads * d] → [b, heads, s, d]; without a number of heads each is as wide as the tables say.
ValueId headsToTurn(MapContext& c, ValueId x, int64_t heads, const Rotation& rotation) {
  const ValueId half = dimAt(c, rotation.cosines, 1), width = c.emit("add", {half, half});
  const ValueId count = heads > 0 ? c.integersValue({heads}) : c.emit("div", {dimAt(c, x, 2), width});
  const ValueId each = c.emit("div", {dimAt(c, x, 2), count});
  const ValueId y =
      reshaped(c, x, joinedShape(c, {c.emit("shape", {x}, {{"end", int64_t{2}}}), count, each}));
  return transposed(c, y, {0, 2, 1, 3});
}

}  // namespace

// x [b, s, n], weights [n, 3 * heads * d], bias, mask, past [2, b, heads, past, d], what is added to the
// scores
void mapContribAttention(MapContext& c) {
  if (c.hasInput(6)) c.unsupported("a past that shares its buffer (past_sequence_length)");
  c.ignoreAttribute("rotary_embedding_dim");
  ValueId qkv = c.emit("matmul", {c.input(0), c.input(1)});
  if (c.hasInput(2)) qkv = c.emit("add", {qkv, c.input(2)});
  attend(c, qkv, c.integers("qkv_hidden_sizes"), c.optionalInput(3), c.optionalInput(4), c.optionalInput(5));
}

// The same with a quantised product: x, weights, bias, their scales, mask, their zero points, past
void mapQAttention(MapContext& c) {
  const ValueId sums =
      c.emit("matmul_integer", {c.input(0), c.input(1), c.optionalInput(6), c.optionalInput(7)});
  const ValueId qkv = c.emit(
      "add",
      {c.emit("mul", {castTo(c, sums, Dtype::f32), c.emit("mul", {c.input(3), c.input(4)})}), c.input(2)});
  attend(c, qkv, {}, c.optionalInput(5), c.optionalInput(8), kNoValue);
}

// Projected already: query [b, s, heads * d] or packed [b, s, heads, 3, d]; key, value [b, l, heads * d], [b,
// heads, l, d] or packed [b, l, heads, 2, d]; bias; mask; what is added to the scores; past keys and values.
void mapMultiHeadAttention(MapContext& c) {
  if (c.hasInput(8) || c.hasInput(9)) c.unsupported("a past that shares its buffer");
  AttentionMap a{c};
  const int64_t heads = a.queryHeads = a.keyHeads = c.requiredInteger("num_heads");
  if (heads < 1) c.fail(DiagnosticId::badAttribute, "num_heads must be positive");
  if (c.failed()) return;
  ValueId query = c.input(0), key = c.optionalInput(1), value = c.optionalInput(2);
  const int queryRank = c.inferredRank(query), keyRank = c.inferredRank(key);
  if (queryRank < 0 || (key != kNoValue && keyRank < 0)) c.unsupported("operands whose rank is not known");
  const bool packed = queryRank == 5, packedKeys = keyRank == 5, projected = keyRank == 4;
  std::vector<ValueId> biases(3, kNoValue);
  if (c.hasInput(3)) {
    if (packed || packedKeys) c.unsupported("a bias together with packed operands");
    const ValueId wide = dimAt(c, query, 2);
    const ValueId rest = c.emit("sub", {dimAt(c, c.input(3), 0), c.emit("add", {wide, wide})});
    biases = c.emitMany("split", {c.input(3), joinedShape(c, {wide, wide, rest})}, {{"axis", int64_t{0}}}, 3);
  }
  const auto split = [&](ValueId x, ValueId bias) {
    return splitHeads(c, bias == kNoValue ? x : c.emit("add", {x, bias}), heads);
  };
  a.q = packed ? packedPart(c, query, 0) : split(query, biases[0]);
  if (packed || packedKeys) {
    a.k = packedPart(c, packed ? query : key, packed ? 1 : 0);
    a.v = packedPart(c, packed ? query : key, packed ? 2 : 1);
  } else {
    a.k = projected ? c.input(1) : split(c.input(1), biases[1]);
    a.v = projected ? c.input(2) : split(value, biases[2]);
  }
  if (c.hasInput(6)) {
    a.k = c.emit("concat", {c.input(6), a.k}, {{"axis", int64_t{2}}});
    a.v = c.emit("concat", {c.input(7), a.v}, {{"axis", int64_t{2}}});
  }
  c.setOutput(1, a.k);
  c.setOutput(2, a.v);
  if (c.hasInput(4)) addPaddingMask(a, c.input(4));
  if (c.integer("unidirectional", 0) != 0) addUnidirectional(a);
  if (c.hasInput(5)) a.addBias(c.input(5));
  setAttention(a);
}

namespace {

// Keys or values of a buffer that may be longer than what is in it, `total` rows: those from `begins` [b] on
// are `fresh` [b, kh, s, d].
ValueId appended(MapContext& c, ValueId past, ValueId fresh, ValueId begins, ValueId total) {
  const ValueId before = past == kNoValue ? fresh : past, zero = c.integersValue({0});
  const ValueId pads = joinedShape(c, {zero, c.emit("sub", {total, dimAt(c, before, 2)})});
  const ValueId room = c.emit("pad", {before, pads, kNoValue, c.integersValue({2})});
  return c.emit("tensor_scatter", {room, fresh, begins}, {{"axis", int64_t{2}}});
}

// Softmax over the scores and one more of each head that takes part in the sum only: `sink` [heads], or 0.
ValueId softmaxWithSink(MapContext& c, ValueId scores, ValueId sink) {
  ValueId more = sink == kNoValue ? c.number(0, scores) : unsqueezed(c, sink, {1, 2});
  more = castTo(c, more, c.dtypeOr(scores, Dtype::f32));
  const ValueId shape =
      joinedShape(c, {c.emit("shape", {scores}, {{"end", int64_t{3}}}), c.integersValue({1})});
  const Attributes last = {{"axis", int64_t{-1}}};
  const ValueId all = softmaxOf(c, c.emit("concat", {scores, c.emit("expand", {more, shape})}, last));
  return c.emit("slice", {all, c.integersValue({0}), c.integersValue({-1}), c.integersValue({-1})});
}

}  // namespace

// query [b, s, heads * d] (or all three packed), key, value [b, s, kh * d], past keys and values [b, kh,
// past, d], seqlens_k [b] (keys of each row less one), the largest number of keys, rotary tables, positions,
// what is added to the scores, a sink for each head.
void mapGroupQueryAttention(MapContext& c) {
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (c.text(name, "NONE") != "NONE") c.unsupported("quantised keys and values");
  for (const char* name : {"sliding_window_cache", "qk_output"})
    if (c.integer(name, 0) != 0) c.unsupported(std::string(name) + " of GroupQueryAttention");
  if (c.hasInput(14) || c.hasInput(15)) c.unsupported("norms of queries and keys inside GroupQueryAttention");
  c.ignoreAttribute("kv_cache_bit_width");
  c.ignoreAttribute("qk_norm_epsilon");
  AttentionMap a{c};
  const int64_t heads = a.queryHeads = c.requiredInteger("num_heads");
  const int64_t keyHeads = a.keyHeads = c.requiredInteger("kv_num_heads");
  if (heads < 1 || keyHeads < 1)
    c.fail(DiagnosticId::badAttribute, "num_heads and kv_num_heads are positive");
  if (c.failed()) return;
  ValueId query = c.input(0), key = c.optionalInput(1), value = c.optionalInput(2);
  if (key == kNoValue) {
    const ValueId each = c.emit("div", {dimAt(c, query, 2), c.integersValue({heads + 2 * keyHeads})});
    const ValueId sizes = c.emit("mul", {each, c.integersValue({heads, keyHeads, keyHeads})});
    const std::vector<ValueId> parts = c.emitMany("split", {query, sizes}, {{"axis", int64_t{-1}}}, 3);
    query = parts[0];
    key = parts[1];
    value = parts[2];
  }
  a.q = splitHeads(c, query, heads);
  const ValueId newKeys = splitHeads(c, key, keyHeads), newValues = splitHeads(c, value, keyHeads);
  const ValueId steps = dimAt(c, a.q, 2), batch = dimAt(c, a.q, 0);
  const ValueId counts =  // keys of each row, the new ones included
      c.emit("add", {castTo(c, reshaped(c, c.input(5), batch), Dtype::i64), c.integerValue(1)});
  const ValueId begins = c.emit("max", {c.emit("sub", {counts, steps}), c.integerValue(0)});
  const ValueId places =  // [b, s]: of the queries among the keys
      c.emit("add", {unsqueezed(c, begins, {1}), counting(c, steps)});
  ValueId fresh = newKeys;
  if (c.integer("do_rotary", 0) != 0) {
    const Rotation rotation{c.input(7), c.input(8), c.integer("rotary_interleaved", 0) != 0};
    const ValueId positions = c.hasInput(9) ? c.input(9) : places;
    a.q = rotated(c, a.q, positions, rotation);
    fresh = rotated(c, newKeys, positions, rotation);
  } else {
    c.ignoreAttribute("rotary_interleaved");
  }
  ValueId total = castTo(c, reshaped(c, c.input(6), c.integersValue({1})), Dtype::i64);
  const ValueId most = total;
  c.requireInRange(counts, c.integerValue(0), total, "seqlens_k + 1");
  if (c.hasInput(3)) total = c.emit("max", {total, dimAt(c, c.input(3), 2)});
  a.k = appended(c, c.optionalInput(3), fresh, begins, total);
  a.v = appended(c, c.optionalInput(4), newValues, begins, total);
  c.setOutput(1, a.k);
  c.setOutput(2, a.v);

  const ValueId keys = counting(c, total), rows = unsqueezed(c, places, {1, 3});
  const int64_t window = c.integer("local_window_size", -1);
  if (c.integer("causal", 1) != 0) {
    a.addBias(a.asBias(c.emit("less_equal", {keys, rows})));
    if (window >= 0)
      a.addBias(a.asBias(c.emit("greater", {keys, c.emit("sub", {rows, c.integerValue(window)})})));
  } else {
    a.addBias(a.asBias(c.emit("less", {keys, unsqueezed(c, counts, {1, 2, 3})})));
  }
  if (c.hasInput(10)) {
    const ValueId pads = joinedShape(c, {c.integersValue({0}), c.emit("sub", {total, most})});
    a.addBias(c.emit("pad", {c.input(10), pads, kNoValue, c.integersValue({-1})}));
  }
  a.scaleOperands();
  ValueId scores = a.products();
  const double cap = c.real("softcap", 0);
  if (cap != 0)
    scores = c.emit(
        "mul", {c.emit("tanh", {c.emit("div", {scores, c.number(cap, scores)})}), c.number(cap, scores)});
  scores = c.emit("add", {scores, a.bias});
  const bool hasSink = c.hasInput(11) || c.integer("smooth_softmax", 0) > 0;
  const ValueId weights = hasSink ? softmaxWithSink(c, scores, c.optionalInput(11)) : softmaxOf(c, scores);
  c.setOutput(0, joinHeads(c, a.weighted(weights)));
}

// x [b, s, heads * d] or [b, heads, s, d], positions [1] (the first) or [b, s], tables [rows, half]
void mapContribRotaryEmbedding(MapContext& c) {
  if (c.integer("is_packed_batching", 0) != 0) c.unsupported("batches packed into one row");
  if (c.real("scale", 1) != 1) c.unsupported("a scale of the rotation");
  const ValueId x = c.input(0), positions = c.input(1);
  const int rank = c.inferredRank(x), positionRank = c.inferredRank(positions);
  if (rank < 0 || positionRank < 0) c.unsupported("operands whose rank is not known");
  const Rotation rotation{c.input(2), c.input(3), c.integer("interleaved", 0) != 0};
  const int64_t heads = c.integer("num_heads", 0), turned = c.integer("rotary_embedding_dim", 0);
  if (turned > 0 && heads == 0 && rank == 3) c.fail(DiagnosticId::badAttribute, "num_heads is missing");
  if (c.failed()) return;
  ValueId y = rank == 3 ? headsToTurn(c, x, heads, rotation) : x;
  ValueId places = positions;
  if (positionRank == 1) {
    const ValueId first = reshaped(c, positions, c.integersValue({1, 1}));
    const ValueId row = c.emit("add", {first, counting(c, dimAt(c, y, 2))});
    places = c.emit("expand", {row, joinedShape(c, {dimAt(c, y, 0), dimAt(c, y, 2)})});
  }
  y = rotated(c, y, places, rotation);
  c.setOutput(0, rank == 3 ? joinHeads(c, y) : y);
}

// positions [3, b, s]: time, height and width, each of which gives some of the angles.
void mapMRotaryEmbedding(MapContext& c) {
  if (c.integer("is_packed_batching", 0) != 0) c.unsupported("batches packed into one row");
  if (c.real("scale", 1) != 1) c.unsupported("a scale of the rotation");
  const ValueId x = c.input(0), positions = castTo(c, c.input(1), Dtype::i64);
  const int rank = c.inferredRank(x);
  if (rank != 3 && rank != 4) c.unsupported("an operand that has not three or four axes, or of unknown rank");
  const Rotation rotation{c.input(2), c.input(3), c.integer("interleaved", 0) != 0};
  const std::vector<int64_t> section = c.integers("mrope_section");
  const int64_t layout = c.integer("mrope_layout", 0), heads = c.integer("num_heads", 0);
  c.ignoreAttribute("rotary_embedding_dim");  // twice the width of the tables
  if (section.size() != 3 || layout < 0 || layout > 1)
    c.fail(DiagnosticId::badAttribute, "mrope_section has three sizes, mrope_layout is 0 or 1");
  if (c.failed()) return;
  // Which stream of positions each column of the tables goes by.
  std::vector<int64_t> streams;
  const int64_t half = section[0] + section[1] + section[2];
  if (section[0] < 0 || section[1] < 0 || section[2] < 0 || half > 1 << 20)
    return c.fail(DiagnosticId::badAttribute, "mrope_section has sizes below 0 or above a million");
  for (int64_t column = 0; column < half; ++column) {
    const int64_t turn = column % 3;
    const bool takesTurn = turn > 0 && column < 3 * section[static_cast<size_t>(turn)];
    streams.push_back(layout == 1
                          ? (takesTurn ? turn : 0)
                          : int64_t{column >= section[0]} + int64_t{column >= section[0] + section[1]});
  }
  c.requireInRange(scalarOf(c, dimAt(c, rotation.cosines, 1)), c.integerValue(half), c.integerValue(half),
                   "the width of the rotary tables");
  const ValueId stream = c.constant(HostTensor::vectorInt(Dtype::i64, streams));
  const auto anglesOf = [&](ValueId table) {
    const ValueId all = c.emit("gather", {table, positions}, {{"axis", int64_t{0}}});  // [3, b, s, half]
    const auto of = [&](int64_t i) {
      return c.emit("gather", {all, c.integerValue(i)}, {{"axis", int64_t{0}}});
    };
    const auto is = [&](int64_t i) { return c.emit("equal", {stream, c.integerValue(i)}); };
    return c.emit("where", {is(0), of(0), c.emit("where", {is(1), of(1), of(2)})});
  };
  const ValueId y = turnedBy(c, rank == 3 ? headsToTurn(c, x, heads, rotation) : x,
                             anglesOf(rotation.cosines), anglesOf(rotation.sines), rotation);
  c.setOutput(0, rank == 3 ? joinHeads(c, y) : y);
}

// One new position: query [b, 1, heads * d]; key and value of it, or all of them [b, heads, l, d]; mask [b,
// total]; what is added to the scores; past keys and values, whose buffer may be longer than what is in it.
void mapDecoderMaskedAttention(MapContext& c) {
  if (c.hasInput(8) || c.hasInput(9)) c.unsupported("a search by beams inside of the operator");
  if (c.integer("output_qk", 0) != 0 || c.wantsOutput(3)) c.unsupported("the scores as an output");
  AttentionMap a{c};
  const int64_t heads = a.queryHeads = a.keyHeads = c.requiredInteger("num_heads");
  if (heads < 1) c.fail(DiagnosticId::badAttribute, "num_heads must be positive");
  const bool shares = c.integer("past_present_share_buffer", 0) != 0;
  if (!c.hasInput(1) || !c.hasInput(2)) c.unsupported("packed queries, keys and values");
  const int keyRank = c.inferredRank(c.optionalInput(1));
  if (keyRank != 3 && keyRank != 4)
    c.unsupported("keys that have not three or four axes, or of unknown rank");
  if (c.failed()) return;
  const ValueId query = c.input(0);
  std::vector<ValueId> biases(3, kNoValue);
  if (c.hasInput(10)) {
    const ValueId wide = dimAt(c, query, 2);
    const ValueId rest = c.emit("sub", {dimAt(c, c.input(10), 0), c.emit("add", {wide, wide})});
    biases =
        c.emitMany("split", {c.input(10), joinedShape(c, {wide, wide, rest})}, {{"axis", int64_t{0}}}, 3);
  }
  const auto split = [&](ValueId x, ValueId bias) {
    return splitHeads(c, bias == kNoValue ? x : c.emit("add", {x, bias}), heads);
  };
  a.q = split(query, biases[0]);
  if (keyRank == 4) {
    a.k = c.input(1);
    a.v = c.input(2);
  } else {
    const ValueId place = shares ? scalarOf(c, castTo(c, c.input(7), Dtype::i64)) : kNoValue;
    const auto joined = [&](ValueId fresh, int past, int output) {
      if (!c.hasInput(past)) {
        c.setOutput(output, fresh);
        return fresh;
      }
      ValueId before = c.input(past);
      if (shares) {
        const ValueId isNew = c.emit("equal", {counting(c, dimAt(c, before, 2)), place});
        c.setOutput(output, c.emit("where", {unsqueezed(c, isNew, {1}), fresh, before}));
        before = c.emit("slice", {before, c.integersValue({0}), reshaped(c, place, c.integersValue({1})),
                                  c.integersValue({2})});
      }
      const ValueId all = c.emit("concat", {before, fresh}, {{"axis", int64_t{2}}});
      if (!shares) c.setOutput(output, all);
      return all;
    };
    a.k = joined(split(c.input(1), biases[1]), 5, 1);
    a.v = joined(split(c.input(2), biases[2]), 6, 2);
  }
  if (c.hasInput(3)) addPaddingMask(a, c.input(3));
  if (c.hasInput(4)) a.addBias(c.input(4));
  setAttention(a);
}

}  // namespace dyn::onnx
