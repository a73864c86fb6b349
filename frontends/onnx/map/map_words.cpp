// Steps that many mappings take.
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {

ValueId dimAt(MapContext& c, ValueId x, int64_t axis) {
  if (axis == -1) return c.emit("shape", {x}, {{"start", axis}});
  return c.emit("shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

ValueId joinedShape(MapContext& c, const std::vector<ValueId>& pieces) {
  return c.emit("concat", pieces, {{"axis", int64_t{0}}});
}

ValueId scalarOf(MapContext& c, ValueId x) {
  if (x == kNoValue || c.rankOf(x) == 0) return x;
  if (const HostTensor* known = c.constantOf(x); known && known->elementCount() == 1)
    return c.constant(known->reshaped({}));
  return reshaped(c, x, c.integersValue({}));
}

ValueId scalarInput(MapContext& c, int i) {
  const ValueId x = c.optionalInput(i);
  if (c.rankOf(x) == 1)
    c.warn("input " + std::to_string(i) + " is a vector of one element where the standard has a scalar");
  return scalarOf(c, x);
}

ValueId asReal(MapContext& c, ValueId x) {
  const std::optional<Dtype> dtype = c.inferredDtype(x);
  return dtype && isInteger(*dtype) ? castTo(c, x, Dtype::f64) : x;
}

ValueId reshaped(MapContext& c, ValueId x, ValueId shape) {
  return c.emit("reshape", {x, shape}, {{"allowzero", int64_t{1}}});
}

ValueId transposed(MapContext& c, ValueId x, std::vector<int64_t> perm) {
  return c.emit("transpose", {x}, {{"perm", std::move(perm)}});
}

ValueId unsqueezed(MapContext& c, ValueId x, std::vector<int64_t> axes) {
  return c.emit("unsqueeze", {x, c.integersValue(std::move(axes))});
}

ValueId elementsAt(MapContext& c, ValueId x, ValueId places, int64_t axis) {
  const HostTensor* texts = c.dtypeOf(x) == Dtype::string ? c.constantOf(x) : nullptr;
  if (texts == nullptr || texts->shape().size() != 1) return c.emit("gather", {x, places}, {{"axis", axis}});
  // A list of strings that is known: each place, also one counted from the end, is the key of its string.
  const int64_t count = texts->elementCount();
  std::vector<int64_t> keys;
  std::vector<std::string> values;
  for (int64_t i = -count; i != count; ++i) {
    keys.push_back(i);
    values.push_back(texts->stringValues()[static_cast<size_t>(i < 0 ? i + count : i)]);
  }
  places = castTo(c, places, Dtype::i64);
  c.requireInRange(places, c.integerValue(-count), c.integerValue(count - 1), "indices");
  return c.emit("lookup", {places},
                {{"keys", HostTensor::vectorInt(Dtype::i64, keys)},
                 {"values", HostTensor::strings({2 * count}, std::move(values))},
                 {"default", HostTensor::strings({}, {""})}});
}

ValueId counting(MapContext& c, ValueId size) {
  return c.emit("range", {c.integerValue(0), scalarOf(c, size), c.integerValue(1)});
}

ValueId headsApart(MapContext& c, ValueId x, int64_t heads) {
  const ValueId each = c.emit("div", {dimAt(c, x, 2), c.integersValue({heads})});
  return reshaped(
      c, x, joinedShape(c, {c.emit("shape", {x}, {{"end", int64_t{2}}}), c.integersValue({heads}), each}));
}

ValueId splitHeads(MapContext& c, ValueId x, int64_t heads) {
  return transposed(c, headsApart(c, x, heads), {0, 2, 1, 3});
}

ValueId joinHeads(MapContext& c, ValueId x) {
  const ValueId y = transposed(c, x, {0, 2, 1, 3});
  const ValueId columns = c.emit("mul", {dimAt(c, y, 2), dimAt(c, y, 3)});
  return reshaped(c, y, joinedShape(c, {c.emit("shape", {y}, {{"end", int64_t{2}}}), columns}));
}

ValueId swish(MapContext& c, ValueId x, double alpha) {
  const ValueId scaled = alpha == 1 ? x : c.emit("mul", {x, c.number(alpha, x)});
  return c.emit("mul", {x, c.emit("sigmoid", {scaled})});
}

}  // namespace dyn::onnx
