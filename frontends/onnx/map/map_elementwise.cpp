// Elementwise operators of which the IR has no row of the same form.
#include "frontends/onnx/map/map_functions.h"
#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {
namespace {

ValueId foldInputs(MapContext& c, std::string_view op) {
  const std::vector<ValueId> inputs = c.inputs();
  ValueId y = c.input(0);
  for (size_t i = 1; i < inputs.size(); ++i) y = c.emit(op, {y, inputs[i]});
  return y;
}

}  // namespace

ValueId castTo(MapContext& c, ValueId x, Dtype dtype) {
  if (c.dtypeOf(x) == dtype) return x;
  return c.emit("cast", {x}, {{"to", dtype}});
}

void mapMax(MapContext& c) { c.setOutput(0, foldInputs(c, "max")); }
void mapMin(MapContext& c) { c.setOutput(0, foldInputs(c, "min")); }
void mapSum(MapContext& c) { c.setOutput(0, foldInputs(c, "add")); }

void mapMean(MapContext& c) {
  const ValueId sum = foldInputs(c, "add");
  if (c.inputCount() == 1) return c.setOutput(0, sum);
  c.setOutput(0, c.emit("div", {sum, c.number(c.inputCount(), sum)}));
}

void mapClip(MapContext& c) {
  const ValueId x = c.input(0);
  ValueId low = scalarInput(c, 1), high = scalarInput(c, 2);
  if (c.version() < 11) {
    if (c.hasAttribute("min")) low = c.number(c.real("min", 0), x);
    if (c.hasAttribute("max")) high = c.number(c.real("max", 0), x);
  }
  c.setOutput(0, low == kNoValue && high == kNoValue ? x : c.emit("clip", {x, low, high}));
}

namespace {

// Reals become 2- and 4-bit integers by way of i32: the standard's reference keeps the low bits, where the
// IR's cast saturates.
void setCast(MapContext& c, ValueId x, Dtype to) {
  const std::string rounding = c.text("round_mode", "up");
  if (rounding != "up" && to == Dtype::f8e8m0) c.unsupported("round_mode " + quotedText(rounding));
  const bool narrow = to == Dtype::i4 || to == Dtype::u4 || to == Dtype::i2 || to == Dtype::u2;
  if (narrow && isReal(c.dtypeOr(x, Dtype::f32))) x = c.emit("cast", {x}, {{"to", Dtype::i32}});
  Attributes attributes;
  attributes.set("to", to);
  if (c.hasAttribute("saturate")) attributes.set("saturate", c.integer("saturate", 1));
  c.setOutput(0, c.emit("cast", {x}, std::move(attributes)));
}

}  // namespace

void mapCast(MapContext& c) {
  const std::optional<Dtype> to = c.dtype("to");
  if (!to) c.fail(DiagnosticId::badAttribute, "attribute \"to\" is missing");
  setCast(c, c.input(0), to.value_or(Dtype::f32));
}

void mapCastLike(MapContext& c) {
  const std::optional<Dtype> to = c.inferredDtype(c.input(1));
  if (!to) c.unsupported("the element type of target_type is not known before inference");
  setCast(c, c.input(0), to.value_or(Dtype::f32));
}

void mapBitShift(MapContext& c) {
  const std::string direction = c.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    c.fail(DiagnosticId::badAttribute, "direction is " + quotedText(direction) + ", not LEFT or RIGHT");
  c.setOutput(0, c.emit("bit_shift", {c.input(0), c.input(1)},
                        {{"direction", std::string(direction == "LEFT" ? "left" : "right")}}));
}

// Before operator set 28 reals had the sign of the dividend only (fmod = 1).
void mapMod(MapContext& c) {
  const ValueId a = c.input(0), b = c.input(1);
  const int64_t fmod = c.integer("fmod", 0);
  const std::optional<Dtype> dtype = c.dtypeOf(a);
  if (fmod != 0 || c.version() < 28 || !dtype || !isReal(*dtype))
    return c.setOutput(0, c.emit("mod", {a, b}, {{"fmod", fmod}}));
  const ValueId rest = c.emit("mod", {a, b}, {{"fmod", int64_t{1}}}), zero = c.number(0, a);
  const ValueId isBelow = c.emit("less", {b, zero});
  const ValueId differs = c.emit("logical_xor", {c.emit("less", {rest, zero}), isBelow});
  const ValueId moved = c.emit("where", {differs, c.emit("add", {rest, b}), rest});
  const ValueId none = c.emit("where", {isBelow, c.number(-0.0, a), zero});
  c.setOutput(0, c.emit("where", {c.emit("equal", {rest, zero}), none, moved}));
}

// y = x < -lambd ? x + bias : x > lambd ? x - bias : 0, in real numbers also where the elements are integers.
void mapShrink(MapContext& c) {
  const ValueId given = c.input(0), x = asReal(c, given);
  const double limit = c.real("lambd", 0.5), bias = c.real("bias", 0);
  const ValueId below = c.emit("less", {x, c.number(-limit, x)});
  const ValueId above = c.emit("greater", {x, c.number(limit, x)});
  const auto moved = [&](double by) {
    if (by == 0) return given;
    return castTo(c, c.emit("add", {x, c.number(by, x)}), c.inferredDtype(given).value_or(Dtype::f32));
  };
  const ValueId inner = c.emit("where", {above, moved(-bias), c.number(0, given)});
  c.setOutput(0, c.emit("where", {below, moved(bias), inner}));
}

void mapSwish(MapContext& c) { c.setOutput(0, swish(c, c.input(0), c.real("alpha", 1))); }

void mapIdentity(MapContext& c) { c.setOutput(0, c.input(0)); }

}  // namespace dyn::onnx
