#include "frontends/onnx/map/attention_map.h"

#include <cmath>
#include <limits>

namespace dyn::onnx {

void AttentionMap::scaleOperands() {
  const Dtype dtype = c.dtypeOr(q, Dtype::f32);
  const bool narrow = isHalf(dtype);
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
  const Dtype scores = c.dtypeOr(q, Dtype::f32), dtype = c.dtypeOr(mask, scores);
  if (dtype == Dtype::boolean) {
    mask = asBias(mask);
  } else if (dtype != scores) {
    mask = castTo(c, mask, scores);  // numbers of any type are added
  }
  // A mask may be shorter than the keys: the rest does not take part.
  const ValueId missing = c.emit("sub", {dimAt(c, k, 2), dimAt(c, mask, -1)});
  const ValueId pads = joinedShape(c, {c.integersValue({0}), missing});
  addBias(c.emit("pad", {mask, pads, minusInfinity(), c.integersValue({-1})}));
  rowsMayBeEmpty = true;
}

void AttentionMap::addPositions(bool causal, int64_t left, int64_t right) {
  const ValueId keys = counting(c, dimAt(c, k, 2));
  if (causal || left >= 0 || right >= 0) {
    ValueId rows = unsqueezed(c, counting(c, dimAt(c, q, 2)), {1});
    if (past != kNoValue) rows = c.emit("add", {rows, dimAt(c, past, 2)});
    if (past == kNoValue && lengths != kNoValue) {
      const ValueId offset = c.emit("sub", {lengths, dimAt(c, q, 2)});
      rows = c.emit("add", {rows, unsqueezed(c, offset, {1, 2, 3})});
      rowsMayBeEmpty = true;
    }
    const ValueId ahead = c.emit("sub", {rows, keys});  // how far the query is past the key
    if (causal) addBias(asBias(c.emit("greater_equal", {ahead, c.integerValue(0)})));
    if (left >= 0) addBias(asBias(c.emit("less_equal", {ahead, c.integerValue(left)})));
    if (right >= 0) addBias(asBias(c.emit("greater_equal", {ahead, c.integerValue(-right)})));
    rowsMayBeEmpty = rowsMayBeEmpty || left >= 0 || right >= 0;
  }
  if (lengths != kNoValue) {
    const ValueId counts = unsqueezed(c, lengths, {1, 2, 3});
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
  const ValueId scores = c.emit("matmul", {grouped(q), unsqueezed(c, k, {2})}, transposeB);
  return reshaped(c, scores, joinedShape(c, {c.emit("shape", {q}, {{"end", int64_t{3}}}), dimAt(c, k, 2)}));
}

ValueId AttentionMap::weighted(ValueId weights) {
  if (sameHeads()) return c.emit("matmul", {weights, v});
  const ValueId y = c.emit("matmul", {grouped(weights), unsqueezed(c, v, {2})});
  return reshaped(c, y, joinedShape(c, {c.emit("shape", {q}, {{"end", int64_t{3}}}), dimAt(c, v, 3)}));
}

}  // namespace dyn::onnx
