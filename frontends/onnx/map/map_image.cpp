// Operators of images that the IR has in another form.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontends/onnx/map/map_functions.h"
#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {

// Before opset 20 there were two spatial axes, and modes were named after them.
void mapGridSample(MapContext& c) {
  std::string mode = c.text("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  c.setOutput(0, c.emit("grid_sample", {c.input(0), c.input(1)},
                        {{"mode", mode},
                         {"padding_mode", c.text("padding_mode", "zeros")},
                         {"align_corners", c.integer("align_corners", 0)}}));
}

void mapRoiAlign(MapContext& c) {
  const std::string centre = c.version() < 16 ? "output_half_pixel" : "half_pixel";
  c.setOutput(0, c.emit("roi_align", {c.input(0), c.input(1), castTo(c, c.input(2), Dtype::i64)},
                        {{"mode", c.text("mode", "avg")},
                         {"coordinate_transformation_mode", c.text("coordinate_transformation_mode", centre)},
                         {"output_height", c.integer("output_height", 1)},
                         {"output_width", c.integer("output_width", 1)},
                         {"sampling_ratio", c.integer("sampling_ratio", 0)},
                         {"spatial_scale", c.real("spatial_scale", 1)}}));
}

namespace {

// The cells of regions along one axis of x.
struct RoiCells {
  ValueId inside = kNoValue;   // [k, cells, size] bool: does the cell have the element?
  ValueId isEmpty = kNoValue;  // [k, cells] bool
};

// A region from `begin` to `end`, both inside [k], is cut into `cells` of the same length, whose ends are
// rounded outwards and held in the axis: neighbours share an element where they do not come out even.
RoiCells roiCells(MapContext& c, ValueId begin, ValueId end, int64_t cells, ValueId size, Dtype computed) {
  const ValueId one = c.integerValue(1);
  const ValueId length = c.emit("max", {c.emit("add", {c.emit("sub", {end, begin}), one}), one});
  const ValueId bin = unsqueezed(
      c, c.emit("div", {castTo(c, length, computed), c.numberOf(static_cast<double>(cells), computed)}), {1});
  std::vector<int64_t> numbers(static_cast<size_t>(cells)), next;
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int64_t n : numbers) next.push_back(n + 1);
  const ValueId from = unsqueezed(c, begin, {1});
  const auto place = [&](const char* rounding, const std::vector<int64_t>& steps) {
    const ValueId step = castTo(c, c.integersValue(steps), computed);
    const ValueId at = castTo(c, c.emit(rounding, {c.emit("mul", {step, bin})}), Dtype::i64);
    return c.emit("min", {c.emit("max", {c.emit("add", {at, from}), c.integerValue(0)}), size});
  };
  const ValueId low = place("floor", numbers), high = place("ceil", next);
  const ValueId position = c.emit("range", {c.integerValue(0), size, one});
  const ValueId behind = c.emit("greater_equal", {position, unsqueezed(c, low, {2})});
  const ValueId before = c.emit("less", {position, unsqueezed(c, high, {2})});
  return {c.emit("logical_and", {behind, before}), c.emit("less_equal", {high, low})};
}

}  // namespace

// The largest element of each cell, first of its rows, then of its columns: an element belongs to a cell when
// its column and its row do. The channels stand last meanwhile, so that one answer serves all lanes of a
// vector. Regions are [k, 5]: the batch, then x1, y1, x2, y2, both ends inside.
void mapMaxRoiPool(MapContext& c) {
  const ValueId x = c.input(0), regions = c.input(1);
  const std::vector<int64_t> cells = c.integers("pooled_shape");
  if (cells.size() != 2 || cells[0] < 1 || cells[1] < 1)
    return c.fail(DiagnosticId::badAttribute, "pooled_shape is the number of cells along rows and columns");
  const Dtype computed = c.inferredDtype(x) == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const auto column = [&](int64_t k) {
    const ValueId at = c.emit("gather", {regions, c.integerValue(k)}, {{"axis", int64_t{1}}});
    return castTo(c, at, computed);
  };
  // Halves are rounded away from zero. f64 has the sum with a half.
  const auto rounded = [&](int64_t k) {
    const double scale = static_cast<double>(static_cast<float>(c.real("spatial_scale", 1)));
    const ValueId v = castTo(c, c.emit("mul", {column(k), c.numberOf(scale, computed)}), Dtype::f64);
    const ValueId away = c.emit("floor", {c.emit("add", {c.emit("abs", {v}), c.numberOf(0.5, Dtype::f64)})});
    return castTo(c, c.emit("mul", {c.emit("sign", {v}), away}), Dtype::i64);
  };
  const auto sizeOf = [&](int64_t axis) {
    return scalarOf(c, c.emit("shape", {x}, {{"start", axis}, {"end", axis + 1}}));
  };
  const RoiCells across = roiCells(c, rounded(1), rounded(3), cells[1], sizeOf(3), computed);
  const RoiCells down = roiCells(c, rounded(2), rounded(4), cells[0], sizeOf(2), computed);
  const ValueId batch = castTo(c, column(0), Dtype::i64);
  c.requireInRange(batch, c.integerValue(0), c.emit("sub", {sizeOf(0), c.integerValue(1)}),
                   "the batch of a region");
  const ValueId nothing = c.number(-HUGE_VAL, x);
  const auto largest = [&](ValueId inside, ValueId of, int64_t axis) {
    return c.emit("reduce_max", {c.emit("where", {inside, of, nothing}), c.integersValue({axis})},
                  {{"keepdims", int64_t{0}}});
  };
  const auto turned = [&](ValueId v, std::vector<int64_t> perm) {
    return c.emit("transpose", {v}, {{"perm", std::move(perm)}});
  };
  ValueId y = c.emit("gather", {turned(x, {0, 2, 3, 1}), batch}, {{"axis", int64_t{0}}});  // [k, h, w, c]
  y = largest(unsqueezed(c, down.inside, {3, 4}), unsqueezed(c, y, {1}), 2);               // [k, rows, w, c]
  y = largest(unsqueezed(c, across.inside, {1, 4}), unsqueezed(c, y, {2}), 3);  // [k, rows, columns, c]
  y = turned(y, {0, 3, 1, 2});
  const ValueId isEmpty =
      c.emit("logical_or", {unsqueezed(c, down.isEmpty, {1, 3}), unsqueezed(c, across.isEmpty, {1, 2})});
  c.setOutput(0, c.emit("where", {isEmpty, c.number(0, x), y}));
}

// The indices are those of the pool's flat operand, whose sizes follow from the window; a larger output gets
// zeros behind them.
void mapMaxUnpool(MapContext& c) {
  const ValueId x = c.input(0);
  const std::vector<int64_t> kernel = c.integers("kernel_shape");
  std::vector<int64_t> strides = c.integers("strides"), pads = c.integers("pads"), cut;
  const size_t rank = kernel.size();
  strides.resize(rank, 1);
  pads.resize(2 * rank, 0);
  // kernel - pads
  for (size_t i = 0; i < rank; ++i) cut.push_back(kernel[i] - pads[i] - pads[i + rank]);
  const ValueId outer = c.emit("shape", {x}, {{"end", int64_t{2}}});
  ValueId space = c.emit("sub", {c.emit("shape", {x}, {{"start", int64_t{2}}}), c.integerValue(1)});
  space = c.emit("add", {c.emit("mul", {space, c.integersValue(strides)}), c.integersValue(cut)});
  const ValueId shape = joinedShape(c, {outer, space});
  const ValueId total = c.emit("reduce_prod", {shape}, {{"keepdims", int64_t{1}}});
  HostTensor zero = HostTensor::scalar(c.dtypeOr(x, Dtype::f32), 0).reshaped({1});
  const ValueId zeros = c.emit("constant_of_shape", {total}, {{"value", std::move(zero)}});
  const ValueId flat = c.integersValue({-1});
  ValueId y = c.emit("scatter_elements", {zeros, reshaped(c, c.input(1), flat), reshaped(c, x, flat)},
                     {{"axis", int64_t{0}}, {"reduction", std::string("none")}});
  y = reshaped(c, y, shape);
  if (c.hasInput(2)) {
    const ValueId before = c.emit("sub", {shape, shape});
    const ValueId behind = c.emit("sub", {c.input(2), shape});
    y = c.emit("pad", {y, joinedShape(c, {before, behind})}, {{"mode", std::string("constant")}});
  }
  c.setOutput(0, y);
}

// Two kernels of the host (app/pictures/picture_kernels.h): the size by the head of the file, then pixels.
void mapImageDecoder(MapContext& c) {
  const std::string format = c.text("pixel_format", "RGB");
  static constexpr std::string_view kFormats[] = {"RGB", "BGR", "Grayscale"};  // a PixelOrder each
  const auto* const known = std::find(std::begin(kFormats), std::end(kFormats), format);
  if (known == std::end(kFormats))
    return c.fail(DiagnosticId::badAttribute,
                  "pixel_format is " + quotedText(format) + ", it is RGB, BGR or Grayscale");
  const ValueId size =
      c.emit("custom_call", {c.input(0), c.integersValue({2})},
             {{"kernel", std::string("dyn_picture_size")}, {"dtypes", std::vector<std::string>{"i64"}}});
  const ValueId shape = joinedShape(c, {size, c.integersValue({format == "Grayscale" ? 1 : 3})});
  const ValueId order = c.integerValue(known - std::begin(kFormats));
  c.setOutput(0, c.emit("custom_call", {c.input(0), order, shape}, {{"kernel", std::string("dyn_picture")}}));
}

}  // namespace dyn::onnx
