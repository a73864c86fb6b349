// nms: ONNX NonMaxSuppression. For each class the boxes come by falling score, the best few sorted at a time
// (mostly few are asked for), and are kept unless one kept before overlaps them; those lie in columns, four
// looked at together.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/four.h"

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

// The boxes kept so far. Unused places of the last four, and boxes without area, overlap nothing.
class KeptBoxes {
 public:
  void clear() { count_ = 0; }
  size_t size() const { return count_; }

  void push(const Box& box) {
    if (count_ % kTogether == 0) {
      for (std::vector<float>& column : columns_) column.resize(count_ + kTogether);
      for (size_t i = 0; i < kTogether; ++i) place(count_ + i, {0, 0, -INFINITY, -INFINITY, 0});
    }
    if (box.area > 0) place(count_, box);
    ++count_;
  }

  bool overlap(const Box& box, float threshold) const {
    if (!(box.area > 0)) return false;
    for (size_t first = 0; first < count_; first += kTogether) {
      Bits any{};
      for (size_t i = first; i < first + kTogether; i += 4) {
        const Four height = smaller(at(2, i), box.y2) - larger(at(0, i), box.y1),
                   width = smaller(at(3, i), box.x2) - larger(at(1, i), box.x1);
        const Four common = height * width;
        any |= (height > 0) & (width > 0) & (common / (at(4, i) + box.area - common) > threshold);
      }
      if ((any[0] | any[1] | any[2] | any[3]) != 0) return true;
    }
    return false;
  }

 private:
  typedef int32_t Bits __attribute__((vector_size(16)));
  static constexpr size_t kTogether = 16;
  const Four& at(size_t column, size_t i) const { return four(columns_[column].data() + i); }
  static Four smaller(Four a, float b) { return a < b ? a : Four{} + b; }
  static Four larger(Four a, float b) { return a > b ? a : Four{} + b; }
  void place(size_t i, const Box& box) {
    const float values[] = {box.y1, box.x1, box.y2, box.x2, box.area};
    for (size_t column = 0; column < 5; ++column) columns_[column][i] = values[column];
  }

  std::vector<float> columns_[5];  // y1, x1, y2, x2, area
  size_t count_ = 0;
};

// Candidates in falling order of score, equal ones by rising index; a score that is no number comes last.
class Candidates {
 public:
  void collect(const float* score, int64_t count, bool hasThreshold, float threshold) {
    keys_.resize(static_cast<size_t>(count));
    size_t found = 0;
    for (int64_t i = 0; i < count; ++i) {  // no branch: which scores pass is anybody's guess
      keys_[found] = keyOf(score[i], i);
      found += !hasThreshold || score[i] > threshold ? 1 : 0;
    }
    keys_.resize(found);
    sorted_ = next_ = 0;
    chunk_ = kFirstChunk;
  }

  // The next one, or -1.
  int64_t next() {
    if (next_ == sorted_) sortSome();
    return next_ < keys_.size() ? static_cast<int64_t>(UINT32_MAX - static_cast<uint32_t>(keys_[next_++]))
                                : -1;
  }

 private:
  static constexpr size_t kFirstChunk = 256;
  static constexpr int kBucketBits = 12;

  // Larger is better: the score's bits in an order of integers, then the index from behind.
  static uint64_t keyOf(float score, int64_t index) {
    uint32_t bits = 0;
    const float positive = score + 0.0f;  // -0 is 0
    memcpy(&bits, &positive, sizeof bits);
    bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    if (score != score) bits = 0;
    return uint64_t{bits} << 32 | (UINT32_MAX - static_cast<uint32_t>(index));
  }
  static size_t bucketOf(uint64_t key) { return static_cast<size_t>(key >> (64 - kBucketBits)); }

  // Brings about the next `chunk_` best to the front of what is not sorted, found by counting leading bits,
  // and sorts them.
  void sortSome() {
    const size_t left = keys_.size() - sorted_;
    auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(sorted_), end = keys_.end();
    if (left > 2 * chunk_) {
      counts_.assign(size_t{1} << kBucketBits, 0);
      for (auto it = begin; it != end; ++it) ++counts_[bucketOf(*it)];
      size_t lowest = counts_.size() - 1, above = counts_[lowest];
      while (above < chunk_) above += counts_[--lowest];
      end = std::partition(begin, end, [&](uint64_t key) { return bucketOf(key) >= lowest; });
    }
    std::sort(begin, end, std::greater<>());
    sorted_ = static_cast<size_t>(end - keys_.begin());
    chunk_ *= 4;
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> counts_;
  size_t sorted_ = 0, next_ = 0, chunk_ = kFirstChunk;
};

}  // namespace

Status nms(BuiltinCall& call) {
  using Call = calls::Nms;
  const Tensor *boxes = call.argument(Call::boxes), *scores = call.argument(Call::scores);
  if (!boxes || boxes->dtype != DataType::f32 || boxes->rank != 3 || boxes->shape()[2] != 4)
    return badArgument("nms", Call::boxes, "f32[batch, boxes, 4]", call.arguments[Call::boxes]);
  if (!scores || scores->dtype != DataType::f32 || scores->rank != 3 ||
      scores->shape()[0] != boxes->shape()[0] || scores->shape()[2] != boxes->shape()[1])
    return badArgument("nms", Call::scores, "f32[batch, classes, boxes]", call.arguments[Call::scores]);
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
  if (const Tensor* tensor = call.argument(Call::mostPerClass)) {
    if (tensor->dtype != DataType::i64 || tensor->elementCount != 1)
      return badArgument("nms", Call::mostPerClass, "one i64", call.arguments[Call::mostPerClass]);
    most = *tensor->as<int64_t>();
  }
  if (Status status = real(Call::overlapThreshold, 0.0f, iouThreshold); !status.ok()) return status;
  if (Status status = real(Call::scoreThreshold, 0.0f, scoreThreshold); !status.ok()) return status;
  const bool center = call.numbersOf<Call>().centered != 0,
             hasScoreThreshold = call.argument(Call::scoreThreshold) != nullptr;
  const int64_t batches = boxes->shape()[0], count = boxes->shape()[1], classes = scores->shape()[1];
  if (count > UINT32_MAX) return failure(DYN_UNSUPPORTED, "more than 2^32 boxes");
  most = std::clamp<int64_t>(most, 0, count);

  // Without boxes the numbers of batches and classes have no bytes behind them.
  const int64_t units = most > 0 ? batches * classes : 0;
  std::vector<std::vector<int64_t>> kept(static_cast<size_t>(units));
  const uint32_t tasks = units * count > 16384 ? call.threadCount() : 1;
  call.split(units, tasks, [&](int64_t begin, int64_t end) {
    Candidates candidates;
    KeptBoxes chosen;
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
      const float* box = boxes->as<float>() + unit / classes * count * 4;
      candidates.collect(scores->as<float>() + unit * count, count, hasScoreThreshold, scoreThreshold);
      chosen.clear();
      while (static_cast<int64_t>(chosen.size()) < most) {
        const int64_t candidate = candidates.next();
        if (candidate < 0) break;
        const Box now = readBox(box + candidate * 4, center);
        if (chosen.overlap(now, iouThreshold)) continue;
        chosen.push(now);
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
