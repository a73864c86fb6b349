// nms: ONNX NonMaxSuppression. Boxes are sorted by score once per class, then kept greedily; areas are computed once.
#include <algorithm>
#include <vector>

#include "vm/kernels/builtins.h"

namespace dyn::vm::kernels {
namespace {

struct Box {
  float y1, x1, y2, x2, area;
};

Box readBox(const float* from, bool center) {
  Box box;
  if (center) {
    const float halfWidth = from[2] / 2, halfHeight = from[3] / 2;
    box = {from[1] - halfHeight, from[0] - halfWidth, from[1] + halfHeight, from[0] + halfWidth, 0};
  } else {
    box = {std::min(from[0], from[2]), std::min(from[1], from[3]), std::max(from[0], from[2]),
           std::max(from[1], from[3]), 0};
  }
  box.area = (box.y2 - box.y1) * (box.x2 - box.x1);
  return box;
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1),
              width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area <= 0 || b.area <= 0) return false;
  const float common = height * width;
  return common / (a.area + b.area - common) > threshold;
}

}  // namespace

Status nms(BuiltinCall& call) {
  const Tensor *boxes = call.argument(0), *scores = call.argument(1);
  if (!boxes || boxes->dtype != DataType::f32 || boxes->rank != 3 || boxes->shape()[2] != 4)
    return badArgument("nms", 0, "f32[batch, boxes, 4]", call.arguments[0]);
  if (!scores || scores->dtype != DataType::f32 || scores->rank != 3 ||
      scores->shape()[0] != boxes->shape()[0] || scores->shape()[2] != boxes->shape()[1])
    return badArgument("nms", 1, "f32[batch, classes, boxes]", call.arguments[1]);
  auto real = [&](size_t index, float otherwise, float& value) {
    const Tensor* tensor = call.argument(index);
    value = otherwise;
    if (!tensor) return okStatus();
    if (tensor->dtype != DataType::f32 || tensor->elementCount != 1)
      return badArgument("nms", index, "one f32", call.arguments[index]);
    value = *tensor->as<float>();
    return okStatus();
  };
  int64_t most = 0;
  float iouThreshold = 0, scoreThreshold = 0;
  if (const Tensor* tensor = call.argument(2)) {
    if (tensor->dtype != DataType::i64 || tensor->elementCount != 1)
      return badArgument("nms", 2, "one i64", call.arguments[2]);
    most = *tensor->as<int64_t>();
  }
  if (Status status = real(3, 0.0f, iouThreshold); !status.ok()) return status;
  if (Status status = real(4, 0.0f, scoreThreshold); !status.ok()) return status;
  const bool center = call.number(0, 0) != 0, hasScoreThreshold = call.argument(4) != nullptr;
  const int64_t batches = boxes->shape()[0], count = boxes->shape()[1], classes = scores->shape()[1];
  most = std::clamp<int64_t>(most, 0, count);

  // Without boxes the numbers of batches and classes have no bytes behind them.
  const int64_t units = most > 0 ? batches * classes : 0;
  std::vector<std::vector<int64_t>> kept(static_cast<size_t>(units));
  const uint32_t tasks = units * count > 16384 ? call.threads->threadCount() : 1;
  call.threads->split(units, tasks, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> order;
    std::vector<Box> chosen;
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const float* score = scores->as<float>() + unit * count;
      const float* box = boxes->as<float>() + unit / classes * count * 4;
      order.clear();
      chosen.clear();
      for (int64_t i = 0; i < count; ++i)
        if (!hasScoreThreshold || score[i] > scoreThreshold) order.push_back(i);
      // A score that is no number stands last: an order that is none lets std::sort run out of its range.
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const bool leftIsNumber = score[a] == score[a], rightIsNumber = score[b] == score[b];
        if (leftIsNumber != rightIsNumber) return leftIsNumber;
        return leftIsNumber && score[a] != score[b] ? score[a] > score[b] : a < b;
      });
      for (int64_t candidate : order) {
        if (static_cast<int64_t>(chosen.size()) >= most) break;
        const Box now = readBox(box + candidate * 4, center);
        if (std::any_of(chosen.begin(), chosen.end(),
                        [&](const Box& other) { return overlaps(now, other, iouThreshold); }))
          continue;
        chosen.push_back(now);
        kept[static_cast<size_t>(unit)].push_back(candidate);
      }
    }
  });
  int64_t total = 0;
  for (const auto& rows : kept) total += static_cast<int64_t>(rows.size());
  const int64_t shape[2] = {total, 3};
  Tensor* result = nullptr;
  if (Status status = call.result(0, DataType::i64, shape, result); !status.ok()) return status;
  auto* out = result->as<int64_t>();
  for (int64_t unit = 0; unit < units; ++unit) {
    for (int64_t index : kept[static_cast<size_t>(unit)]) {
      *out++ = unit / classes;
      *out++ = unit % classes;
      *out++ = index;
    }
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
