// Operators of object detection: non-maximum suppression.
#include <algorithm>

#include "compiler/ops/op_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/strided_walk.h"

namespace dyn {

namespace {

constexpr AttributeSpec kNmsAttributes[] = {
    {"center_point_box", AttributeKind::integer, false,
     "0: boxes are two corners [y, x, y, x]; 1: [x, y, width, height] around the centre; default 0"},
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

Status nmsArguments(const Op& op, std::span<const Type>, std::vector<int32_t>* numbers, std::vector<Dim>*) {
  numbers->push_back(op.attributes.integer("center_point_box", 0) != 0);
  return {};
}

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
    .builtin = "nms",
    .builtinAllocates = true,
    .builtinArguments = nmsArguments,
    .doc =
        "boxes [b, n, 4], scores [b, c, n] f32, most per class i64 (left out: 0), overlap threshold f32 (0), "
        "score threshold f32 "
        "(none) -> [?, 3] i64: batch, class, box",
    .example =
        "fn @main(%b: Tensor[(1, n, 4), f32], %s: Tensor[(1, 2, n), f32], %m: Tensor[(1), i64]) "
        "{ %y = non_max_suppression(%b, %s, %m) return %y }",
};

}  // namespace ops
}  // namespace dyn
