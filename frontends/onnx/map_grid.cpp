// Sampling grids.
#include "frontends/onnx/map_functions.h"

namespace dyn::onnx {
namespace {

// Where the places of an axis of that size are in [-1, 1]: its corners at the ends, or its borders.
ValueId coordinates(MapContext& c, ValueId size, bool alignCorners, Dtype dtype) {
  const ValueId place = castTo(c, counting(c, size), dtype), count = castTo(c, size, dtype);
  const ValueId one = c.numberOf(1, dtype), two = c.numberOf(2, dtype);
  const ValueId twice = c.emit("mul", {place, two});
  if (!alignCorners) return c.emit("sub", {c.emit("div", {c.emit("add", {twice, one}), count}), one});
  // An axis of one place has it at the beginning.
  const ValueId steps = c.emit("max", {c.emit("sub", {count, one}), one});
  return c.emit("sub", {c.emit("div", {twice, steps}), one});
}

}  // namespace

// theta [n, k, k + 1], size (n, channels, d0, ..) of k + 2 numbers → [n, d0, .., k]: theta applied to each place (.., y, x, 1)
void mapAffineGrid(MapContext& c) {
  const ValueId theta = c.input(0), size = c.input(1);
  const int length = c.lengthOf(size);
  if (length != 4 && length != 5) return c.unsupported("AffineGrid where the number of axes is not known");
  const int64_t axes = length - 2;
  const bool alignCorners = c.integer("align_corners", 0) != 0;
  const Dtype dtype = c.dtypeOr(theta, Dtype::f32);
  // A column of theta as [n, 1, .., 1, k].
  std::vector<int64_t> between;
  for (int64_t axis = 1; axis <= axes; ++axis) between.push_back(axis);
  const auto column = [&](int64_t index) {
    const ValueId one = c.emit("gather", {theta, c.integerValue(index)}, {{"axis", int64_t{2}}});
    return c.emit("unsqueeze", {one, c.integersValue(between)});
  };
  ValueId y = column(axes);
  for (int64_t axis = 0; axis < axes; ++axis) {
    // Axis 0 of the grid goes with the last column but one.
    const ValueId count = c.emit("gather", {size, c.integersValue({axis + 2})}, {{"axis", int64_t{0}}});
    std::vector<int64_t> others = {0};
    for (int64_t i = 0; i <= axes; ++i)
      if (i != axis) others.push_back(i + 1);
    const ValueId places =
        c.emit("unsqueeze", {coordinates(c, count, alignCorners, dtype), c.integersValue(others)});
    y = c.emit("add", {y, c.emit("mul", {places, column(axes - 1 - axis)})});
  }
  c.setOutput(0, y);
}

}  // namespace dyn::onnx
