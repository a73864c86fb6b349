// Mixtures of experts of onnxruntime: each row goes through the few experts that a router chooses.
#include <cmath>
#include <limits>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// How the experts' first layer becomes what their second one reads.
struct ExpertActivation {
  std::string name;
  int64_t fusion = 0;  // swiglu: 1 gate and value take turns in a row, 2 one behind the other
  double alpha = 1, beta = 0, limit = std::numeric_limits<double>::infinity();

  explicit ExpertActivation(MapContext& c)
      : name(c.text("activation_type", "relu")),
        fusion(c.integer("swiglu_fusion", 0)),
        alpha(c.real("activation_alpha", 1)),
        beta(c.real("activation_beta", 0)) {
    if (c.hasAttribute("swiglu_limit")) limit = c.real("swiglu_limit", limit);
    if (c.integer("swiglu_limit_after_activation", 0) != 0)
      c.unsupported("swiglu_limit_after_activation: onnxruntime has it for GPUs only");
  }
  bool isGated() const { return name == "swiglu"; }

  // x [rows, n] or, gated, [rows, 2 n]; `value` [rows, n] where a layer of its own makes it.
  ValueId of(MapContext& c, ValueId x, ValueId value) const {
    if (name == "relu") return c.emit("relu", {x});
    if (name == "gelu") return c.emit("gelu", {x}, {{"approximate", std::string("tanh")}});
    if (name == "silu") return swish(c, x, 1);
    if (name == "identity") return x;
    if (!isGated()) {
      c.unsupported("activation_type " + quotedText(name));
      return x;
    }
    ValueId gate = x;
    if (fusion == 1) {
      const ValueId pairs = reshaped(
          c, x, joinedShape(c, {c.emit("shape", {x}, {{"end", int64_t{1}}}), c.integersValue({-1, 2})}));
      const auto column = [&](int64_t i) {
        return c.emit("gather", {pairs, c.integerValue(i)}, {{"axis", int64_t{2}}});
      };
      gate = column(0);
      value = column(1);
    } else if (fusion == 2) {
      const std::vector<ValueId> halves =
          c.emitMany("split", {x}, {{"axis", int64_t{1}}, {"parts", int64_t{2}}}, 2);
      gate = halves[0];
      value = halves[1];
    } else if (value == kNoValue) {
      c.fail(DiagnosticId::badOperands, "swiglu without fusion needs the third layer");
      return x;
    }
    if (std::isfinite(limit)) {
      gate = c.emit("min", {gate, c.number(limit, gate)});
      value = c.emit("clip", {value, c.number(-limit, value), c.number(limit, value)});
    }
    return c.emit("mul", {swish(c, gate, alpha), c.emit("add", {value, c.number(beta, value)})});
  }
};

// One layer of all experts: weights [experts, n, k], what they are made of, bias [experts, n].
struct Layer {
  ValueId weights = kNoValue, scales = kNoValue, zeros = kNoValue, bias = kNoValue;
  int64_t bits = 0, block = 0;  // bits 0: real weights

  static ValueId partOf(MapContext& c, ValueId all, ValueId expert) {
    const ValueId begin = reshaped(c, expert, c.integersValue({1}));
    const ValueId end = c.emit("add", {begin, c.integersValue({1})});
    const ValueId part = c.emit("slice", {all, begin, end, c.integersValue({0})});
    return c.emit("squeeze", {part, c.integersValue({0})});
  }

  // [n, k / codes in a byte] → [n, k] in f32, the low bits first.
  ValueId unpacked(MapContext& c, ValueId bytes) const {
    if (bits == 8) return castTo(c, bytes, Dtype::f32);
    const ValueId wide = castTo(c, bytes, Dtype::i32);
    std::vector<ValueId> parts;
    for (int64_t shift = 0; shift < 8; shift += bits) {
      const ValueId moved = shift == 0 ? wide : c.emit("div", {wide, c.numberOf(1 << shift, Dtype::i32)});
      parts.push_back(unsqueezed(c, c.emit("mod", {moved, c.numberOf(1 << bits, Dtype::i32)}), {2}));
    }
    const ValueId rows = c.emit("shape", {bytes}, {{"end", int64_t{1}}});
    const ValueId together = c.emit("concat", parts, {{"axis", int64_t{2}}});
    return castTo(c, reshaped(c, together, joinedShape(c, {rows, c.integersValue({-1})})), Dtype::f32);
  }

  // [n, k] of one expert.
  ValueId matrix(MapContext& c, ValueId expert) const {
    const ValueId part = partOf(c, weights, expert);
    if (bits == 0) return part;
    ValueId codes = unpacked(c, part);
    const ValueId whole = c.emit("shape", {codes});
    ValueId scale = castTo(c, partOf(c, scales, expert), Dtype::f32);
    ValueId zero = c.numberOf(static_cast<double>(int64_t{1} << (bits - 1)), Dtype::f32);
    const ValueId rows = dimAt(c, codes, 0);
    const ValueId blocks =
        block == 0 ? c.integersValue({1}) : c.emit("div", {dimAt(c, codes, 1), c.integersValue({block})});
    if (zeros != kNoValue) {
      const ValueId packed = partOf(c, zeros, expert);
      // Rows of whole bytes; without blocks one row for all.
      const ValueId perRow = block == 0 ? reshaped(c, packed, c.integersValue({1, -1})) : packed;
      const ValueId wanted = block == 0 ? rows : blocks;
      const ValueId all = unpacked(c, perRow);
      zero = c.emit("slice", {all, c.integersValue({0}), wanted, c.integersValue({1})});
      zero = reshaped(c, zero, joinedShape(c, {rows, blocks, c.integersValue({1})}));
    }
    codes = reshaped(c, codes, joinedShape(c, {rows, blocks, c.integersValue({-1})}));
    scale = reshaped(c, scale, joinedShape(c, {rows, blocks, c.integersValue({1})}));
    return reshaped(c, c.emit("mul", {c.emit("sub", {codes, zero}), scale}), whole);
  }

  // x [rows, k] → [rows, n]
  ValueId of(MapContext& c, ValueId x, ValueId expert) const {
    const ValueId y = c.emit("matmul", {x, matrix(c, expert)}, {{"transpose_b", int64_t{1}}});
    if (bias == kNoValue) return y;
    return c.emit("add", {y, castTo(c, partOf(c, bias, expert), Dtype::f32)});
  }
};

struct Experts {
  Layer first, second, third;  // the third makes the value of a gate, where it has weights
};

// [rows, k] i64 and f32: which experts a row goes through, and what each of them weighs.
struct Routes {
  ValueId experts = kNoValue, weights = kNoValue;
  // Quantised experts know no softmax but that of those that were chosen.
  enum class Softmax : uint8_t { asAttribute, ofChosen };
  Routes(MapContext& c, ValueId router, ValueId mixing, Softmax softmax) {
    const int64_t k = c.integer("k", 1);
    const bool asked = c.integer("normalize_routing_weights", 0) != 0;
    const bool normalized = asked || (softmax == Softmax::ofChosen && mixing == kNoValue);
    if (c.integer("use_sparse_mixer", 0) != 0)
      c.unsupported("use_sparse_mixer: onnxruntime has it for GPUs only");
    if (k < 1) c.fail(DiagnosticId::badAttribute, "k is " + std::to_string(k));
    if (c.failed()) return;
    // Without scores of its own to mix by: by what a softmax makes of the router's, of all experts or of
    // those that were chosen.
    const ValueId scores = castTo(c, router, Dtype::f32);
    experts = c.emitMany("topk", {scores, c.integersValue({k})}, {{"axis", int64_t{1}}}, 2)[1];
    ValueId all = mixing == kNoValue ? scores : castTo(c, mixing, Dtype::f32);
    if (mixing == kNoValue && !normalized) all = c.emit("softmax", {scores}, {{"axis", int64_t{1}}});
    weights = c.emit("gather_elements", {all, experts}, {{"axis", int64_t{1}}});
    if (!normalized) return;
    if (mixing == kNoValue) {
      weights = c.emit("softmax", {weights}, {{"axis", int64_t{1}}});
      return;
    }
    const ValueId sum = c.emit("reduce_sum", {weights, c.integersValue({1})});
    const ValueId none = c.emit("equal", {sum, c.number(0, sum)});
    weights = c.emit("where", {none, c.number(0, sum), c.emit("div", {weights, sum})});
  }
};

// Each expert takes the rows that chose it, and adds what it makes of them.
void mixExperts(MapContext& c, const Experts& experts, ValueId router, ValueId mixing,
                Routes::Softmax softmax) {
  const ValueId x = c.input(0);
  const ExpertActivation activation(c);
  const Routes routes(c, router, mixing, softmax);
  if (c.failed()) return;
  const Dtype dtype = c.dtypeOr(x, Dtype::f32);
  const ValueId rows =
      castTo(c, reshaped(c, x, joinedShape(c, {c.integersValue({-1}), dimAt(c, x, -1)})), Dtype::f32);
  const ValueId nothing = c.emit("mul", {rows, c.number(0, rows)});
  const ValueId count = scalarOf(c, dimAt(c, router, 1));
  const std::vector<ValueId> sums =
      c.emitLoop(count, {nothing}, 0, [&](const MapContext::LoopBody& body) -> std::vector<ValueId> {
        const ValueId expert = body.iteration;
        // [2, chosen]: rows and which of their choices it is.
        const ValueId chosen = c.emit("nonzero", {c.emit("equal", {routes.experts, expert})});
        const ValueId pairs = transposed(c, chosen, {1, 0});
        const ValueId places = c.emit("gather", {chosen, c.integerValue(0)}, {{"axis", int64_t{0}}});
        const ValueId own = c.emit("gather", {rows, places}, {{"axis", int64_t{0}}});
        const ValueId value = experts.third.weights == kNoValue ? kNoValue : experts.third.of(c, own, expert);
        const ValueId hidden = activation.of(c, experts.first.of(c, own, expert), value);
        const ValueId weight = unsqueezed(c, c.emit("gather_nd", {routes.weights, pairs}), {1});
        const ValueId made = c.emit("mul", {experts.second.of(c, hidden, expert), weight});
        return {c.emit("scatter_nd", {body.carried[0], unsqueezed(c, places, {1}), made},
                       {{"reduction", std::string("add")}})};
      });
  c.setOutput(0, castTo(c, reshaped(c, sums[0], c.emit("shape", {x})), dtype));
}

}  // namespace

// x; router; weights and bias of the first, the second and the third layer
void mapMoE(MapContext& c) {
  const auto layer = [&](int weights) {
    return Layer{.weights = c.optionalInput(weights), .bias = c.optionalInput(weights + 1)};
  };
  Experts experts{layer(2), layer(4), layer(6)};
  for (Layer* each : {&experts.first, &experts.second, &experts.third})
    if (each->weights != kNoValue) each->weights = castTo(c, each->weights, Dtype::f32);
  mixExperts(c, experts, c.input(1), kNoValue, Routes::Softmax::asAttribute);
}

// x; router; weights, scales and bias of each layer; zero points of each; weights of the mixture
void mapQMoE(MapContext& c) {
  const std::string kind = c.text("quant_type", "int");
  if (kind != "int")
    return c.unsupported("quant_type " + quotedText(kind) + ": onnxruntime has it for GPUs only");
  if (c.integer("weights_prepacked", -1) == 1)
    return c.unsupported("weights laid out for one of onnxruntime's devices");
  c.ignoreAttribute("accuracy_level");
  const int64_t bits = c.integer("expert_weight_bits", 4), block = c.integer("block_size", 0);
  const auto layer = [&](int weights, int zeros, const char* own) {
    return Layer{.weights = c.optionalInput(weights),
                 .scales = c.optionalInput(weights + 1),
                 .zeros = c.optionalInput(zeros),
                 .bias = c.optionalInput(weights + 2),
                 .bits = c.integer(own, bits),
                 .block = block > 0 ? block : 0};
  };
  const Experts experts{layer(2, 11, "fc1_expert_weight_bits"), layer(5, 12, "fc2_expert_weight_bits"),
                        layer(8, 13, "fc3_expert_weight_bits")};
  for (const Layer* each : {&experts.first, &experts.second, &experts.third}) {
    if (each->bits != 2 && each->bits != 4 && each->bits != 8)
      return c.unsupported("expert weights of " + std::to_string(each->bits) + " bits");
    if (each->weights != kNoValue && each->scales == kNoValue)
      return c.fail(DiagnosticId::badOperands, "quantised weights without scales");
  }
  for (int i = 15; i < c.inputCount(); ++i)
    if (c.hasInput(i))
      return c.unsupported("input " + std::to_string(i) + ": it belongs to weights of 4-bit and 8-bit reals");
  mixExperts(c, experts, c.input(1), c.optionalInput(14), Routes::Softmax::ofChosen);
}

}  // namespace dyn::onnx
