// Operators of object detection: non-maximum suppression, regions of a feature map sampled alike.
#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/ops/device_ops.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

namespace {

constexpr AttributeSpec kNmsAttributes[] = {
    {"center_point_box", AttributeKind::integer, false,
     "0: boxes are two corners [y, x, y, x]; 1: [x, y, width, height] around the centre; default 0",
     Allowed::flag()},
    kDeviceAttribute,
};

Status requireOneNumber(InferContext& c, int i, Dtype dtype, std::string_view what) {
  if (!c.hasOperand(i)) return {};
  DYN_TRY(TensorOperand operand, tensorOperand(c, i));
  DYN_CHECK(requireDtype(c, operand, dtype, what));
  if (operand.rank() > 1) return c.error(DiagnosticId::rankMismatch, std::string(what) + " is one number");
  if (operand.rank() == 1) return c.requireEqual(operand.dims[0], constantDim(c, 1), what);
  return {};
}

Status inferNms(InferContext& c) {
  DYN_TRY(TensorOperand boxes, tensorOperand(c, 0, 3));
  DYN_TRY(TensorOperand scores, tensorOperand(c, 1, 3));
  DYN_CHECK(requireDtype(c, boxes, Dtype::f32, "boxes"));
  DYN_CHECK(requireDtype(c, scores, Dtype::f32, "scores"));
  DYN_CHECK(c.requireEqual(boxes.dims[0], scores.dims[0], "batches of boxes and scores"));
  DYN_CHECK(c.requireEqual(boxes.dims[1], scores.dims[2], "boxes, one score each"));
  DYN_CHECK(c.requireEqual(boxes.dims[2], constantDim(c, 4), "a box has 4 numbers"));
  DYN_CHECK(requireOneNumber(c, 2, Dtype::i64, "the number of boxes per class"));
  DYN_CHECK(requireOneNumber(c, 3, Dtype::f32, "the overlap threshold"));
  DYN_CHECK(requireOneNumber(c, 4, Dtype::f32, "the score threshold"));
  setTensor(c, {c.fresh("non_max_suppression counts the boxes it keeps"), constantDim(c, 3)}, Dtype::i64);
  return {};
}

struct Box {
  float top, left, bottom, right;
};

Box boxAt(const HostTensor& boxes, int64_t at, bool centred) {
  const float* b = boxes.as<float>() + at * 4;
  if (centred) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float areaA = (a.bottom - a.top) * (a.right - a.left),
              areaB = (b.bottom - b.top) * (b.right - b.left);
  if (areaA <= 0 || areaB <= 0) return false;
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return false;
  const float both = height * width;
  return both / (areaA + areaB - both) > threshold;
}

Status evaluateNms(EvalContext& c) {
  const HostTensor &boxes = c.operand(0), &scores = c.operand(1);
  const bool centred = c.attributes().integer("center_point_box", 0) != 0;
  const int64_t most = c.hasOperand(2) && c.operand(2).elementCount() > 0 ? c.operand(2).intAt(0) : 0;
  const bool hasLimit = c.hasOperand(4) && c.operand(4).elementCount() > 0;
  const float threshold =
      c.hasOperand(3) && c.operand(3).elementCount() > 0 ? c.operand(3).as<float>()[0] : 0;
  const float limit = hasLimit ? c.operand(4).as<float>()[0] : 0;
  const int64_t classes = scores.shape()[1], count = scores.shape()[2];
  std::vector<int64_t> kept;
  for (int64_t batch = 0; batch < scores.shape()[0]; ++batch) {
    for (int64_t cls = 0; cls < classes; ++cls) {
      const float* score = scores.as<float>() + (batch * classes + cls) * count;
      std::vector<int64_t> order;
      for (int64_t k = 0; k < count; ++k) {
        if (!hasLimit || score[k] > limit) order.push_back(k);
      }
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
      std::vector<Box> chosen;
      for (int64_t k : order) {
        if (static_cast<int64_t>(chosen.size()) >= most) break;
        const Box box = boxAt(boxes, batch * count + k, centred);
        if (std::any_of(chosen.begin(), chosen.end(),
                        [&](const Box& b) { return overlaps(box, b, threshold); }))
          continue;
        chosen.push_back(box);
        kept.insert(kept.end(), {batch, cls, k});
      }
    }
  }
  c.setResult(0,
              HostTensor::vectorInt(Dtype::i64, kept).reshaped({static_cast<int64_t>(kept.size()) / 3, 3}));
  return {};
}

Status fillNms(const BuiltinRequest& request, CallFields<calls::Nms>& call) {
  call.numbers.centered = request.op.attributes.integer("center_point_box", 0) != 0;
  return {};
}

// --- roi_align

constexpr AttributeSpec kRoiAlignAttributes[] = {
    {"output_height", AttributeKind::integer, false, "cells of a region; default 1", Allowed::atLeast(1)},
    {"output_width", AttributeKind::integer, false, "default 1", Allowed::atLeast(1)},
    {"sampling_ratio", AttributeKind::integer, false,
     "samples of a cell along each axis; 0: as many as it has elements; default 0", Allowed::atLeast(0)},
    {"spatial_scale", AttributeKind::real, false, "of the operand's elements to the regions'; default 1",
     Allowed::any()},
    {"mode", AttributeKind::string, false, "avg or max of a cell's samples; default avg",
     Allowed::oneOf("avg max")},
    {"coordinate_transformation_mode", AttributeKind::string, false,
     "half_pixel: the centre of an element lies at 0.5; output_half_pixel: at 0, and a region has at least "
     "one "
     "element; default half_pixel",
     Allowed::oneOf("half_pixel output_half_pixel")},
};

struct RoiOptions {
  int64_t height = 1, width = 1, samples = 0;
  float scale = 1;
  bool isMax = false, halfPixel = true;
};

Result<RoiOptions> roiOptions(const Op& op) {
  RoiOptions o;
  const auto bad = [&](std::string message) {
    return makeError(DiagnosticId::badAttribute, "roi_align: " + std::move(message), op.place);
  };
  o.height = op.attributes.integer("output_height", 1);
  o.width = op.attributes.integer("output_width", 1);
  o.samples = op.attributes.integer("sampling_ratio", 0);
  o.scale = static_cast<float>(op.attributes.real("spatial_scale", 1));
  const std::string mode = op.attributes.string("mode", "avg");
  const std::string centre = op.attributes.string("coordinate_transformation_mode", "half_pixel");
  if (o.height < 1 || o.width < 1 || o.samples < 0 || o.samples > INT32_MAX)
    return bad("sizes are positive and sampling_ratio is not negative");
  if (mode != "avg" && mode != "max") return bad("mode \"" + mode + "\" is unknown: it is avg or max");
  if (centre != "half_pixel" && centre != "output_half_pixel")
    return bad("coordinate_transformation_mode \"" + centre +
               "\" is unknown: it is half_pixel or output_half_pixel");
  o.isMax = mode == "max";
  o.halfPixel = centre == "half_pixel";
  return o;
}

Status inferRoiAlign(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0, 4));
  DYN_TRY(TensorOperand regions, tensorOperand(c, 1, 2));
  DYN_TRY(TensorOperand batches, tensorOperand(c, 2, 1));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  DYN_CHECK(requireSameDtype(c, x, regions));
  DYN_CHECK(requireDtype(c, batches, Dtype::i64, "the batch of each region"));
  DYN_CHECK(c.requireEqual(regions.dims[1], constantDim(c, 4), "a region has 4 numbers"));
  DYN_CHECK(c.requireEqual(regions.dims[0], batches.dims[0], "one batch for each region"));
  DYN_TRY(RoiOptions o, roiOptions(c.op()));
  setTensor(c, {regions.dims[0], x.dims[1], constantDim(c, o.height), constantDim(c, o.width)}, x.dtype);
  return {};
}

// Where an element is sampled along one axis: between two neighbours, or nowhere.
struct RoiPlace {
  int64_t low = 0, high = 0;
  double lowWeight = 0, highWeight = 0;
};

RoiPlace roiPlace(double at, int64_t size) {
  if (!(at >= -1 && at <= static_cast<double>(size))) return {};
  at = std::max(at, 0.0);
  const int64_t low = static_cast<int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, 1, 0};
  const double part = at - static_cast<double>(low);
  return {low, low + 1, 1 - part, part};
}

// Along one axis of a cell: as many as are wanted, else one a pixel; a region may end before it begins, and
// far before.
int64_t samplesOf(double cell, int64_t wanted) {
  return wanted > 0 ? wanted : static_cast<int64_t>(std::max(0.0, std::ceil(cell)));
}

// Has an axis of so many cells no more samples than a region of this operand can have? As the kernel counts.
bool isSampled(double cell, int64_t samples, int64_t cells) {
  constexpr int64_t kMostSamples = 1 << 20;
  if (!std::isfinite(cell) || std::ceil(cell) > static_cast<double>(kMostSamples)) return false;
  return samplesOf(cell, samples) <= kMostSamples / std::max<int64_t>(cells, 1);
}

Status evaluateRoiAlign(EvalContext& c) {
  const HostTensor &x = c.operand(0), &regions = c.operand(1);
  DYN_TRY(RoiOptions o, roiOptions(c.op()));
  const int64_t count = regions.shape()[0], channels = x.shape()[1], height = x.shape()[2],
                width = x.shape()[3];
  DYN_TRY(HostTensor result, newTensor(x.dtype(), {count, channels, o.height, o.width}));
  int64_t flat = 0;
  for (int64_t region = 0; region < count; ++region) {
    const int64_t batch = c.operand(2).intAt(region);
    if (batch < 0 || batch >= x.shape()[0])
      return c.error(DiagnosticId::runtimeError, "batch " + std::to_string(batch) + " is out of range");
    const double shift = o.halfPixel ? 0.5 : 0;
    const auto edge = [&](int64_t k) {
      return regions.realAt(region * 4 + k) * static_cast<double>(o.scale) - shift;
    };
    const double left = edge(0), top = edge(1);
    const double least = o.halfPixel ? -HUGE_VAL : 1;
    const double cellHeight = std::max(edge(3) - top, least) / static_cast<double>(o.height);
    const double cellWidth = std::max(edge(2) - left, least) / static_cast<double>(o.width);
    if (!isSampled(cellHeight, o.samples, o.height) || !isSampled(cellWidth, o.samples, o.width))
      return c.error(DiagnosticId::runtimeError, "region " + std::to_string(region) + " has no usable size");
    const int64_t rows = samplesOf(cellHeight, o.samples), columns = samplesOf(cellWidth, o.samples);
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int64_t plane = (batch * channels + channel) * height * width;
      for (int64_t cell = 0; cell < o.height * o.width; ++cell, ++flat) {
        double sum = 0, largest = 0;
        bool any = false;
        for (int64_t sample = 0; height > 0 && width > 0 && sample < rows * columns; ++sample) {
          const auto at = [](double begin, int64_t k, double size, int64_t part, int64_t parts) {
            return begin + static_cast<double>(k) * size +
                   (static_cast<double>(part) + 0.5) * size / static_cast<double>(parts);
          };
          const RoiPlace v = roiPlace(at(top, cell / o.width, cellHeight, sample / columns, rows), height);
          const RoiPlace h = roiPlace(at(left, cell % o.width, cellWidth, sample % columns, columns), width);
          const double parts[] = {v.lowWeight * h.lowWeight * x.realAt(plane + v.low * width + h.low),
                                  v.lowWeight * h.highWeight * x.realAt(plane + v.low * width + h.high),
                                  v.highWeight * h.lowWeight * x.realAt(plane + v.high * width + h.low),
                                  v.highWeight * h.highWeight * x.realAt(plane + v.high * width + h.high)};
          sum += parts[0] + parts[1] + parts[2] + parts[3];
          const double best = *std::max_element(std::begin(parts), std::end(parts));
          largest = any ? std::max(largest, best) : best;
          any = true;
        }
        result.setReal(flat,
                       o.isMax ? largest : sum / static_cast<double>(std::max<int64_t>(rows * columns, 1)));
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillRoiAlign(const BuiltinRequest& request, CallFields<calls::RoiAlign>& call) {
  const Dtype dtype = request.operandTypes[0].dtype();
  if (dtype != Dtype::f32 && dtype != Dtype::f64)
    return makeError(DiagnosticId::unsupportedDtype,
                     "unsupported: roi_align of " + std::string(toString(dtype)) + " is not compiled",
                     request.op.place);
  DYN_TRY(RoiOptions o, roiOptions(request.op));
  call.numbers.largest = o.isMax;
  call.numbers.halfPixel = o.halfPixel;
  call.numbers.samples = static_cast<int32_t>(o.samples);
  call.numbers.scale = o.scale;
  return {};
}

constexpr OperandRule kNonMaxSuppressionRules[] = {{3, ElementsAre::chances}};
constexpr OperandRule kRoiAlignRules[] = {{2, ElementsAre::byKernel, "places of the batch of operand 0"}};

}  // namespace

namespace ops {

const OpDef non_max_suppressionOp{
    .name = "non_max_suppression",
    .summary = "of overlapping boxes of a class the one with the best score",
    .cls = OpClass::opaque,
    .minOperands = 2,
    .maxOperands = 5,
    .attributes = kNmsAttributes,
    .infer = inferNms,
    .evaluate = evaluateNms,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Nms, fillNms>,
    .operandRules = kNonMaxSuppressionRules,
    .doc =
        "boxes [b, n, 4], scores [b, c, n] f32, most per class i64 (left out: 0), overlap threshold f32 (0), "
        "score threshold f32 "
        "(none) -> [?, 3] i64: batch, class, box",
    .example =
        "fn @main(%b: Tensor[(1, n, 4), f32], %s: Tensor[(1, 2, n), f32], %m: Tensor[(1), i64]) "
        "{ %y = non_max_suppression(%b, %s, %m) return %y }",
};

const OpDef roi_alignOp{
    .name = "roi_align",
    .summary = "regions of a feature map, each sampled on a grid of the same size",
    .cls = OpClass::opaque,
    .minOperands = 3,
    .maxOperands = 3,
    .attributes = kRoiAlignAttributes,
    .infer = inferRoiAlign,
    .evaluate = evaluateRoiAlign,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::RoiAlign, fillRoiAlign>,
    .operandRules = kRoiAlignRules,
    .doc =
        "x [n, c, h, w], regions [k, 4] (x1, y1, x2, y2), the batch of each [k] i64 -> [k, c, output_height, "
        "output_width]; between elements linear, more than one element outside 0",
    .example =
        "fn @main(%x: Tensor[(n, 3, 8, 8), f32], %r: Tensor[(k, 4), f32], %b: Tensor[(k), i64]) "
        "{ %y = roi_align(%x, %r, %b) {output_height = 2, output_width = 2} return %y }",
};

}  // namespace ops
}  // namespace dyn
