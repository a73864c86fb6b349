// Attention as a recurrence, and what stands around it in such models: a convolution and a cache with a state.
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// [b, t, heads * ...] → [t, b, heads, ...] in f32: `inner` splits the last axis further.
ValueId byStep(MapContext& c, ValueId x, std::vector<ValueId> inner, std::vector<int64_t> perm) {
  std::vector<ValueId> shape = {c.emit("shape", {x}, {{"end", int64_t{2}}})};
  shape.insert(shape.end(), inner.begin(), inner.end());
  return castTo(c, transposed(c, reshaped(c, x, joinedShape(c, shape)), std::move(perm)), Dtype::f32);
}

struct Rule {
  bool gates = false, corrects = false;
};

std::optional<Rule> ruleOf(const std::string& name) {
  if (name == "linear") return Rule{};
  if (name == "gated") return Rule{true, false};
  if (name == "delta") return Rule{false, true};
  if (name == "gated_delta") return Rule{true, true};
  return std::nullopt;
}

}  // namespace

// A state [b, heads, dk, dv] to which every step adds key x value, after decay and less what the key finds there already.
void mapLinearAttention(MapContext& c) {
  const int64_t heads = c.requiredInteger("kv_num_heads"), queryHeads = c.requiredInteger("q_num_heads");
  const std::string name = c.text("update_rule", "gated_delta");
  const std::optional<Rule> rule = ruleOf(name);
  if (!rule) c.fail(DiagnosticId::badAttribute, "update_rule is " + quotedText(name));
  if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0)
    c.fail(DiagnosticId::badAttribute, "q_num_heads is not a multiple of kv_num_heads");
  if (c.failed()) return;
  if (rule->gates != c.hasInput(4) || rule->corrects != c.hasInput(5))
    return c.fail(DiagnosticId::badOperands, "the inputs decay and beta do not fit the update rule " + name);
  const ValueId query = c.input(0), key = c.input(1), value = c.input(2);
  const ValueId countOfHeads = c.integersValue({heads});
  const ValueId keyWidth = c.emit("div", {dimAt(c, key, 2), countOfHeads});
  const ValueId valueWidth = c.emit("div", {dimAt(c, value, 2), countOfHeads});
  const ValueId one = c.integersValue({1});
  const std::vector<int64_t> stepFirst = {1, 0, 2, 3}, stepFirstGrouped = {1, 0, 2, 3, 4};
  const ValueId queries =
      byStep(c, query, {c.integersValue({heads, queryHeads / heads}), keyWidth}, stepFirstGrouped);
  const ValueId keys = byStep(c, key, {countOfHeads, keyWidth}, stepFirst);
  const ValueId values = byStep(c, value, {countOfHeads, valueWidth}, stepFirst);
  ValueId decays = kNoValue, rates = kNoValue;
  if (rule->gates) {
    // One for each head, or one for each of its key's elements.
    const ValueId each = c.emit("div", {dimAt(c, c.input(4), 2), countOfHeads});
    decays = c.emit("exp", {byStep(c, c.input(4), {countOfHeads, each}, stepFirst)});
  }
  if (rule->corrects) rates = byStep(c, c.input(5), {dimAt(c, c.input(5), 2), one}, stepFirst);
  const Dtype dtype = c.dtypeOr(query, Dtype::f32);
  Dtype stateDtype = dtype;
  ValueId state;
  if (c.hasInput(3)) {
    stateDtype = c.dtypeOr(c.input(3), dtype);
    state = castTo(c, c.input(3), Dtype::f32);
  } else {
    const HostTensor zero = HostTensor::vectorReal(Dtype::f32, std::vector<double>{0});
    state =
        c.emit("constant_of_shape",
               {joinedShape(c, {dimAt(c, query, 0), countOfHeads, keyWidth, valueWidth})}, {{"value", zero}});
  }
  const ValueId steps = reshaped(c, dimAt(c, query, 1), c.integersValue({}));
  const std::vector<ValueId> results =
      c.emitLoop(steps, {state}, 1, [&](const MapContext::LoopBody& body) -> std::vector<ValueId> {
        const auto now = [&](ValueId all) {
          return c.emit("gather", {all, body.iteration}, {{"axis", int64_t{0}}});
        };
        ValueId s = body.carried[0];
        const ValueId k = now(keys);
        ValueId v = now(values);
        if (rule->gates) s = c.emit("mul", {s, unsqueezed(c, now(decays), {3})});
        if (rule->corrects) {
          const ValueId found = c.emit("matmul", {unsqueezed(c, k, {2}), s});
          v = c.emit("mul",
                     {now(rates), c.emit("sub", {v, c.emit("squeeze", {found, c.integersValue({2})})})});
        }
        s = c.emit("add", {s, c.emit("mul", {unsqueezed(c, k, {3}), unsqueezed(c, v, {2})})});
        return {s, c.emit("matmul", {now(queries), s})};
      });
  // [t, b, heads, group, dv] → [b, t, heads * group * dv]
  const double given = c.real("scale", 0);
  const ValueId root = c.emit("sqrt", {castTo(c, keyWidth, Dtype::f32)});
  const ValueId scale = given != 0 ? c.numberOf(given, Dtype::f32) : c.emit("reciprocal", {root});
  ValueId y = transposed(c, c.emit("mul", {results[1], scale}), {1, 0, 2, 3, 4});
  const ValueId width = c.emit("mul", {valueWidth, c.integersValue({queryHeads})});
  y = reshaped(c, y, joinedShape(c, {c.emit("shape", {query}, {{"end", int64_t{2}}}), width}));
  c.setOutput(0, castTo(c, y, dtype));
  c.setOutput(1, castTo(c, results[0], stateDtype));
}

// Each channel with its own kernel over its past: x [b, c, l], weights [c, 1, k], bias [c], state [b, c, k - 1].
void mapCausalConvWithState(MapContext& c) {
  const ValueId x = c.input(0), weights = c.input(1);
  const std::string activation = c.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    c.fail(DiagnosticId::badAttribute, "activation is " + quotedText(activation));
  const ValueId taps = dimAt(c, weights, 2), length = dimAt(c, x, 2);
  const ValueId before = c.emit("sub", {taps, c.integersValue({1})});
  const ValueId last = c.integersValue({2}), zero = c.integersValue({0});
  const ValueId padded = c.hasInput(3) ? c.emit("concat", {c.input(3), x}, {{"axis", int64_t{2}}})
                                       : c.emit("pad", {x, joinedShape(c, {before, zero}), kNoValue, last});
  // Windows [b, c, l, k], weighted and summed.
  const ValueId places = c.emit("add", {unsqueezed(c, counting(c, length), {1}), counting(c, taps)});
  const ValueId windows = c.emit("gather", {padded, places}, {{"axis", int64_t{2}}});
  // Narrow types are summed in f32, and round after the sum and after the activation.
  const Dtype dtype = c.dtypeOr(x, Dtype::f32), computed = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const ValueId products = c.emit("mul", {castTo(c, windows, computed), castTo(c, weights, computed)});
  ValueId y = c.emit("reduce_sum", {products, c.integersValue({3})}, {{"keepdims", int64_t{0}}});
  if (c.hasInput(2)) y = c.emit("add", {y, unsqueezed(c, castTo(c, c.input(2), computed), {1})});
  y = castTo(c, y, dtype);
  if (activation != "none") {
    y = castTo(c, swish(c, castTo(c, y, computed), 1), dtype);
  }
  c.setOutput(0, y);
  // From `length` on, the last k - 1.
  c.setOutput(1, c.emit("slice", {padded, length, c.integersValue({INT64_MAX}), last}));
}

// swish(a) * b
void mapSwiGlu(MapContext& c) {
  c.setOutput(0, c.emit("mul", {swish(c, c.input(0), c.real("alpha", 1)), c.input(1)}));
}

}  // namespace dyn::onnx
