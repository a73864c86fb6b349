// Operators that make tensors.
#include <cmath>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {

void mapConstant(MapContext& c) {
  std::optional<HostTensor> value = c.tensor("value");
  if (!value) value = c.tensor("sparse_value");
  if (!value && c.hasAttribute("value_float"))
    value = HostTensor::scalar(Dtype::f32, c.real("value_float", 0));
  if (!value && c.hasAttribute("value_int"))
    value = HostTensor::scalarInt(Dtype::i64, c.integer("value_int", 0));
  if (!value && c.hasAttribute("value_floats"))
    value = HostTensor::vectorReal(Dtype::f32, c.reals("value_floats"));
  if (!value && c.hasAttribute("value_ints"))
    value = HostTensor::vectorInt(Dtype::i64, c.integers("value_ints"));
  if (!value && c.hasAttribute("value_string")) value = HostTensor::strings({}, {c.text("value_string", "")});
  if (!value && c.hasAttribute("value_strings")) {
    std::vector<std::string> texts = c.texts("value_strings");
    const auto count = static_cast<int64_t>(texts.size());
    value = HostTensor::strings({count}, std::move(texts));
  }
  if (!value) return c.fail(DiagnosticId::badAttribute, "it has no value");
  c.setOutput(0, c.constant(*value));
}

void mapConstantOfShape(MapContext& c) {
  std::optional<HostTensor> value = c.tensor("value");
  Attributes attributes;
  if (value) attributes.set("value", value->rank() == 1 ? *value : value->reshaped({value->elementCount()}));
  c.setOutput(0, c.emit("constant_of_shape", {c.input(0)}, std::move(attributes)));
}

// A real bound of a range as an integer: a whole constant, or what a size was cast from. `exact`: integers up
// to it are themselves in the range's type.
ValueId wholeBound(MapContext& c, ValueId bound, int64_t exact) {
  if (const HostTensor* known = c.constantOf(bound)) {
    const double value = known->realAt(0);
    const bool isExact = value == std::trunc(value) && std::abs(value) <= static_cast<double>(exact);
    return isExact ? c.integerValue(static_cast<int64_t>(value)) : kNoValue;
  }
  const ValueId whole = c.wholeOf(bound);
  return whole == kNoValue ? kNoValue : castTo(c, scalarOf(c, whole), Dtype::i64);
}

// A range of reals that counts in whole numbers is counted in integers: its size is a dim then. What the
// type would round (a size above 2^24 in f32), and so count otherwise, is refused when it is known.
bool mapWholeRange(MapContext& c, const std::vector<ValueId>& bounds, Dtype dtype) {
  const int64_t exact = int64_t{1} << (dtype == Dtype::f64 ? 53 : 24);
  const HostTensor* start = c.constantOf(bounds[0]);
  const HostTensor* delta = c.constantOf(bounds[2]);
  // From any other start the steps may round, too.
  if (!start || start->realAt(0) != 0 || !delta || c.constantOf(bounds[1])) return false;
  std::vector<ValueId> whole;
  for (const ValueId bound : bounds) {
    whole.push_back(wholeBound(c, bound, exact));
    if (whole.back() == kNoValue) return false;
  }
  c.requireInRange(whole[1], c.integerValue(-exact), c.integerValue(exact),
                   "a limit that " + std::string(toString(dtype)) + " has exactly");
  c.setOutput(0, castTo(c, c.emit("range", whole), dtype));
  return true;
}

void mapRange(MapContext& c) {
  for (int i = 0; i < 3; ++i) (void)c.input(i);
  std::vector<ValueId> inputs = {scalarInput(c, 0), scalarInput(c, 1), scalarInput(c, 2)};
  std::optional<Dtype> dtype;
  for (ValueId value : inputs)
    if (!dtype) dtype = c.inferredDtype(value);
  if (!dtype) c.unsupported("the element type of the range is not known before inference");
  if (!dtype || !isHalf(*dtype)) {
    c.ignoreAttribute("stash_type");
    if (dtype && isReal(*dtype) && mapWholeRange(c, inputs, *dtype)) return;
    return c.setOutput(0, c.emit(dtype && isReal(*dtype) ? "range_real" : "range", inputs));
  }
  // Halves are counted in a wider type: x + 1 is x in them, for large x.
  const Dtype wide = c.dtype("stash_type").value_or(Dtype::f32);
  if (wide != Dtype::f32 && wide != Dtype::f64)
    return c.unsupported("stash_type " + std::string(toString(wide)) + " of a range");
  for (ValueId& value : inputs) value = castTo(c, value, wide);
  c.setOutput(0, castTo(c, c.emit("range_real", inputs), *dtype));
}

void mapOneHot(MapContext& c) {
  ValueId indices = c.input(0), depth = c.input(1);
  const std::optional<Dtype> indexDtype = c.dtypeOf(indices), depthDtype = c.dtypeOf(depth);
  if (indexDtype && !isInteger(*indexDtype)) indices = castTo(c, indices, Dtype::i64);
  if (depthDtype && depthDtype != Dtype::i64) depth = castTo(c, depth, Dtype::i64);
  c.setOutput(0, c.emit("one_hot", {indices, depth, c.input(2)}, {{"axis", c.integer("axis", -1)}}));
}

namespace {

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), n = size, or size - 1 when not periodic.
void mapWindow(MapContext& c, double a0, double a1, double a2) {
  const bool periodic = c.integer("periodic", 1) != 0;
  const Dtype dtype = c.dtype("output_datatype").value_or(Dtype::f32);
  const ValueId size = castTo(c, c.input(0), Dtype::i64);
  const ValueId scalar = scalarOf(c, size);
  c.requireInRange(scalar, c.integerValue(0), kNoValue, "size");
  const ValueId index = counting(c, scalar);
  const Dtype wide = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const ValueId period = periodic ? scalar : c.emit("sub", {scalar, c.integerValue(1)});
  const double pi = std::acos(-1.0);
  const ValueId turn = c.emit(
      "div", {c.emit("mul", {castTo(c, index, wide), c.numberOf(2 * pi, wide)}), castTo(c, period, wide)});
  const ValueId first = c.emit("mul", {c.emit("cos", {turn}), c.numberOf(a1, wide)});
  ValueId y = c.emit("sub", {c.numberOf(a0, wide), first});
  if (a2 != 0) {
    const ValueId twice = c.emit("cos", {c.emit("mul", {turn, c.numberOf(2, wide)})});
    y = c.emit("add", {y, c.emit("mul", {twice, c.numberOf(a2, wide)})});
  }
  c.setOutput(0, castTo(c, y, dtype));
}

}  // namespace

void mapHannWindow(MapContext& c) { mapWindow(c, 0.5, 0.5, 0); }
void mapHammingWindow(MapContext& c) { mapWindow(c, 25.0 / 46.0, 1 - 25.0 / 46.0, 0); }
void mapBlackmanWindow(MapContext& c) { mapWindow(c, 0.42, 0.5, 0.08); }

}  // namespace dyn::onnx
