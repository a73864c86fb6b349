// Operators of images that the IR has in another form.
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

// The indices are those of the pool's flat operand, whose sizes follow from the window; a larger output gets zeros behind them.
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

}  // namespace dyn::onnx
