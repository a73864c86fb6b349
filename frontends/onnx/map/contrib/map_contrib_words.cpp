// Operators of onnxruntime around language models: packed weights and tables, positions, what may not be said
// twice.
#include <algorithm>
#include <limits>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// Codes of so many bits, the low ones first, along the last axis: [..., n] → [..., n * 8 / bits] i32.
ValueId unpackedCodes(MapContext& c, ValueId bytes, int64_t bits) {
  const ValueId wide = castTo(c, bytes, Dtype::i32);
  if (bits == 8) return wide;
  std::vector<ValueId> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    const ValueId moved = shift == 0 ? wide : c.emit("div", {wide, c.numberOf(1 << shift, Dtype::i32)});
    parts.push_back(unsqueezed(c, c.emit("mod", {moved, c.numberOf(1 << bits, Dtype::i32)}), {-1}));
  }
  const ValueId together = c.emit("concat", parts, {{"axis", int64_t{-1}}});
  const ValueId outer = c.emit("shape", {bytes}, {{"end", int64_t{-1}}});
  return reshaped(c, together, joinedShape(c, {outer, c.integersValue({-1})}));
}

// codes [..., n, ...] less zeros, times scales, both [..., ceil(n / block), ...] along the axis.
ValueId scaledByBlocks(MapContext& c, ValueId codes, ValueId zeros, ValueId scales, int64_t axis,
                       int64_t block) {
  const ValueId size = dimAt(c, codes, axis);
  const ValueId places = c.emit("div", {counting(c, size), c.integerValue(block)});
  const auto spread = [&](ValueId x) { return c.emit("gather", {x, places}, {{"axis", axis}}); };
  const Dtype dtype = c.dtypeOr(scales, Dtype::f32);
  const ValueId wide = castTo(c, codes, Dtype::f32);
  const ValueId less = zeros == kNoValue ? wide : c.emit("sub", {wide, castTo(c, spread(zeros), Dtype::f32)});
  return castTo(c, c.emit("mul", {less, castTo(c, spread(scales), Dtype::f32)}), dtype);
}

}  // namespace

// Rows of a table in blocks of integers; what no row has becomes 0.
void mapGatherBlockQuantized(MapContext& c) {
  ValueId data = c.input(0), scales = c.input(2), zeros = c.optionalInput(3);
  const std::optional<Dtype> dtype = c.inferredDtype(data);
  const int rank = c.inferredRank(data), indexRank = c.inferredRank(c.input(1));
  if (!dtype || rank < 1 || indexRank < 0)
    return c.unsupported("operands whose rank or element type is not known before inference");
  if (isReal(*dtype)) return c.unsupported("a table of 4-bit or 8-bit reals");
  const int64_t bits = c.integer("bits", 4), block = c.integer("block_size", 128);
  const auto axisOf = [&](const char* name, int64_t fallback) {
    const int64_t axis = c.integer(name, fallback);
    c.requireAxis(data, axis);
    return axis < 0 ? axis + rank : axis;
  };
  const int64_t gathered = axisOf("gather_axis", 0), quantized = axisOf("quantize_axis", 1);
  if (bits != 2 && bits != 4 && bits != 8)
    c.fail(DiagnosticId::badAttribute, "bits is " + std::to_string(bits));
  if (block < 16) c.fail(DiagnosticId::badAttribute, "block_size is " + std::to_string(block));
  const bool packed = *dtype == Dtype::u8 && bits < 8;
  if (packed && gathered == rank - 1) return c.unsupported("codes packed along the axis that is gathered");
  if (c.failed()) return;
  const ValueId size = dimAt(c, data, gathered), zero = c.integerValue(0);
  const ValueId given = castTo(c, c.input(1), Dtype::i64);
  const ValueId wrapped =
      c.emit("where", {c.emit("less", {given, zero}), c.emit("add", {given, scalarOf(c, size)}), given});
  const ValueId last = c.emit("sub", {scalarOf(c, size), c.integerValue(1)});
  const ValueId inside = c.emit(
      "logical_and", {c.emit("greater_equal", {wrapped, zero}), c.emit("less_equal", {wrapped, last})});
  const ValueId places = c.emit("where", {inside, wrapped, zero});
  const auto rowsOf = [&](ValueId x) { return c.emit("gather", {x, places}, {{"axis", gathered}}); };
  const auto codesOf = [&](ValueId x) { return packed ? unpackedCodes(c, x, bits) : x; };
  // The rows first, where they hold whole blocks.
  const bool rowsFirst = gathered != quantized;
  const int64_t axis = rowsFirst && quantized > gathered ? quantized + indexRank - 1 : quantized;
  if (rowsFirst) {
    data = rowsOf(data);
    scales = rowsOf(scales);
    if (zeros != kNoValue) zeros = rowsOf(zeros);
  }
  if (zeros != kNoValue) {
    zeros = codesOf(zeros);
    if (packed) {
      const ValueId blocks = dimAt(c, scales, axis);
      zeros = c.emit("slice", {zeros, c.integersValue({0}), blocks, c.integersValue({axis})});
    }
  }
  ValueId codes = codesOf(data);
  if (zeros == kNoValue && *dtype == Dtype::u8) {
    codes = castTo(c, codes, Dtype::i32);
    codes = c.emit("sub", {codes, c.numberOf(static_cast<double>(int64_t{1} << (bits - 1)), Dtype::i32)});
  }
  ValueId y = scaledByBlocks(c, codes, zeros, scales, axis, block);
  if (!rowsFirst) y = rowsOf(y);
  // [..., indices, ...]: the mask with axes behind it.
  std::vector<int64_t> behind;
  for (int64_t i = gathered + 1; i < rank; ++i) behind.push_back(indexRank + i - gathered - 1);
  const ValueId mask = behind.empty() ? inside : unsqueezed(c, inside, behind);
  c.setOutput(0, c.emit("where", {mask, y, c.number(0, y)}));
}

// a [..., k] times codes of 4 bits, two in a byte, the high one first: places in a table of 16 numbers.
void mapMatMulBnb4(MapContext& c) {
  constexpr double kNormal[] = {-1.0,
                                -0.6961928009986877,
                                -0.5250730514526367,
                                -0.39491748809814453,
                                -0.28444138169288635,
                                -0.18477343022823334,
                                -0.09105003625154495,
                                0.0,
                                0.07958029955625534,
                                0.16093020141124725,
                                0.24611230194568634,
                                0.33791524171829224,
                                0.44070982933044434,
                                0.5626170039176941,
                                0.7229568362236023,
                                1.0};
  constexpr double kFloat[] = {
      0,    5.208333333e-03,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
      -0.0, -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25};
  const int64_t kind = c.requiredInteger("quant_type"), block = c.requiredInteger("block_size");
  const int64_t n = c.requiredInteger("N"), k = c.requiredInteger("K");
  c.ignoreAttribute("training_mode");
  if (kind != 0 && kind != 1) c.fail(DiagnosticId::badAttribute, "quant_type is " + std::to_string(kind));
  if (n < 1 || k < 1 || block < 1 || n > INT64_MAX / k)
    c.fail(DiagnosticId::badAttribute, "N, K and block_size are at least 1");
  if (c.failed()) return;
  const ValueId a = c.input(0), wide = castTo(c, c.input(1), Dtype::i32),
                sixteen = c.numberOf(16, Dtype::i32);
  const ValueId pairs = c.emit("concat",
                               {unsqueezed(c, c.emit("div", {wide, sixteen}), {1}),
                                unsqueezed(c, c.emit("mod", {wide, sixteen}), {1})},
                               {{"axis", int64_t{1}}});
  const ValueId flat = reshaped(c, pairs, c.integersValue({-1}));
  const ValueId codes = c.emit("slice", {flat, c.integersValue({0}), c.integersValue({n * k})});
  const ValueId table = c.constant(HostTensor::vectorReal(
      Dtype::f32, kind == 1 ? std::span<const double>(kNormal) : std::span<const double>(kFloat)));
  const ValueId values = c.emit("gather", {table, codes}, {{"axis", int64_t{0}}});
  const ValueId blocks = c.emit("div", {counting(c, c.integerValue(n * k)), c.integerValue(block)});
  const ValueId scales =
      c.emit("gather", {castTo(c, c.input(2), Dtype::f32), blocks}, {{"axis", int64_t{0}}});
  const ValueId weights = reshaped(c, c.emit("mul", {values, scales}), c.integersValue({n, k}));
  Attributes attributes;
  if (c.integer("transB", 1) != 0) attributes.set("transpose_b", int64_t{1});
  const Dtype dtype = c.dtypeOr(a, Dtype::f32);
  c.setOutput(0, c.emit("matmul", {a, castTo(c, weights, dtype)}, std::move(attributes)));
}

// Scores of the tokens that would say an n-gram again become -inf. ids [b, s], scores [b, v]
void mapNGramRepeatBlock(MapContext& c) {
  const int64_t size = c.requiredInteger("ngram_size");
  if (size < 1) return c.fail(DiagnosticId::badAttribute, "ngram_size is " + std::to_string(size));
  const ValueId ids = castTo(c, c.input(0), Dtype::i64), scores = c.input(1);
  const ValueId length = scalarOf(c, dimAt(c, ids, 1)), one = c.integerValue(1);
  // Begins of n-grams that end before the end; none where there are fewer tokens.
  const ValueId count =
      c.emit("max", {c.emit("sub", {c.emit("add", {length, one}), c.integerValue(size)}), c.integerValue(0)});
  const ValueId begins = counting(c, count);
  ValueId same = c.emit("less", {begins, c.emit("add", {count, one})});  // [m], all true
  const ValueId batch = dimAt(c, ids, 0);
  same = c.emit("expand", {same, joinedShape(c, {batch, reshaped(c, count, c.integersValue({1}))})});
  for (int64_t i = 0; i + 1 < size; ++i) {
    const ValueId said =
        c.emit("gather", {ids, c.emit("add", {begins, c.integerValue(i)})}, {{"axis", int64_t{1}}});
    // The last size - 1 tokens; place 0 if absent, which nothing compares.
    const ValueId place =
        c.emit("max", {c.emit("add", {length, c.integerValue(i + 1 - size)}), c.integerValue(0)});
    const ValueId now =
        c.emit("gather", {ids, reshaped(c, place, c.integersValue({1}))}, {{"axis", int64_t{1}}});
    same = c.emit("logical_and", {same, c.emit("equal", {said, now})});
  }
  const ValueId next =
      c.emit("gather", {ids, c.emit("add", {begins, c.integerValue(size - 1)})}, {{"axis", int64_t{1}}});
  // Places of the scores and a column for what is not forbidden.
  const ValueId words = scalarOf(c, dimAt(c, scores, 1));
  const ValueId column = c.emit("where", {same, next, words});
  const ValueId least = c.number(-std::numeric_limits<double>::infinity(), scores);
  const ValueId wider = c.emit("pad", {scores, c.integersValue({0, 0, 0, 1})});
  const ValueId fill = c.emit("expand", {least, c.emit("shape", {column})});
  const ValueId all = c.emit("scatter_elements", {wider, column, fill}, {{"axis", int64_t{1}}});
  c.setOutput(0, c.emit("slice", {all, c.integersValue({0}), dimAt(c, scores, 1), c.integersValue({1})}));
}

// LinearAttention and CausalConvWithState of the standard; what onnxruntime adds to them is refused.
void mapContribLinearAttention(MapContext& c) {
  if (c.integer("state_window", 0) != 0) return c.unsupported("several states (state_window)");
  if (c.requiredInteger("kv_num_heads") > c.requiredInteger("q_num_heads"))
    return c.unsupported("more heads of keys than of queries");
  mapLinearAttention(c);
}

void mapContribCausalConv(MapContext& c) {
  constexpr std::pair<const char*, int64_t> kPlain[] = {{"dilation", 1},
                                                        {"ndim", 1},
                                                        {"state_window", 0},
                                                        {"channels_last", 0},
                                                        {"state_length", 0},
                                                        {"input_channels", 0},
                                                        {"input_channel_offset", 0},
                                                        {"state_update_capacity", 0},
                                                        {"state_channels_last", -1}};
  for (const auto& [name, plain] : kPlain)
    if (const int64_t value = c.integer(name, plain); value != plain)
      return c.unsupported(std::string(name) + " = " + std::to_string(value));
  mapCausalConvWithState(c);
}

}  // namespace dyn::onnx
