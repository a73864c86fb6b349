#include "app/engine/generalise/constant_pattern.h"

#include <cstring>

namespace dyn {
namespace {

// A constant as [outer, axis, inner], elements by their bytes.
struct Along {
  int64_t outer = 1, count = 1, inner = 1, width = 1;
  const std::byte* bytes = nullptr;

  Along(const HostTensor& constant, size_t axis)
      : count(constant.shape()[axis]), width(storageBytes(constant.dtype())), bytes(constant.bytes()) {
    for (size_t i = 0; i < axis; ++i) outer *= constant.shape()[i];
    for (size_t i = axis + 1; i < constant.shape().size(); ++i) inner *= constant.shape()[i];
  }
  const std::byte* row(int64_t o, int64_t i) const { return bytes + ((o * count + i) * inner) * width; }
  size_t rowBytes() const { return static_cast<size_t>(inner * width); }
};

bool isUniform(const Along& along) {
  for (int64_t o = 0; o < along.outer; ++o)
    for (int64_t i = 1; i < along.count; ++i)
      if (std::memcmp(along.row(o, 0), along.row(o, i), along.rowBytes()) != 0) return false;
  return true;
}

std::optional<HostTensor> firstOf(const HostTensor& constant, const Along& along, size_t axis) {
  std::vector<int64_t> shape = constant.shape();
  shape[axis] = 1;
  Result<HostTensor> one = HostTensor::create(constant.dtype(), shape);
  if (!one.ok()) return std::nullopt;
  std::byte* to = one->mutableData();
  for (int64_t o = 0; to != nullptr && o < along.outer; ++o)
    std::memcpy(to + static_cast<size_t>(o) * along.rowBytes(), along.row(o, 0), along.rowBytes());
  return to == nullptr ? std::nullopt : std::optional<HostTensor>(*std::move(one));
}

bool isWhole(Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::i32; }

bool isCounted(const HostTensor& constant, const Along& along) {
  if (!isWhole(constant.dtype()) || along.outer != 1 || along.inner != 1 || along.count < 2) return false;
  for (int64_t i = 1; i < along.count; ++i)
    if (constant.intAt(i) != constant.intAt(0) + i) return false;
  return true;
}

std::optional<HostTensor> scalarAt(const HostTensor& constant, int64_t flat) {
  Result<HostTensor> one = HostTensor::create(constant.dtype(), {});
  std::byte* to = one.ok() ? one->mutableData() : nullptr;
  if (to == nullptr) return std::nullopt;
  const auto width = static_cast<size_t>(storageBytes(constant.dtype()));
  std::memcpy(to, constant.bytes() + static_cast<size_t>(flat) * width, width);
  return *std::move(one);
}

// Over the last two axes, which are as long as each other; all axes before have size 1.
bool isCausal(const HostTensor& constant, size_t axis, ConstantPattern& pattern) {
  const std::vector<int64_t>& shape = constant.shape();
  if (shape.size() < 2 || axis + 2 < shape.size()) return false;
  const int64_t size = shape[shape.size() - 1];
  if (size < 2 || shape[shape.size() - 2] != size || constant.elementCount() != size * size) return false;
  const auto width = static_cast<size_t>(storageBytes(constant.dtype()));
  const auto at = [&](int64_t row, int64_t column) {
    return constant.bytes() + static_cast<size_t>(row * size + column) * width;
  };
  for (int64_t row = 0; row < size; ++row)
    for (int64_t column = 0; column < size; ++column)
      if (std::memcmp(at(row, column), column <= row ? at(0, 0) : at(0, 1), width) != 0) return false;
  const std::optional<HostTensor> within = scalarAt(constant, 0), beyond = scalarAt(constant, 1);
  if (!within || !beyond) return false;
  pattern.within = *within;
  pattern.beyond = *beyond;
  return true;
}

}  // namespace

std::optional<ConstantPattern> patternOf(const HostTensor& constant, size_t axis) {
  if (!constant.valid() || constant.dtype() == Dtype::string || storageBytes(constant.dtype()) < 1 ||
      constant.elementCount() == 0)
    return std::nullopt;
  const Along along(constant, axis);
  ConstantPattern pattern;
  if (isUniform(along)) {
    const std::optional<HostTensor> one = firstOf(constant, along, axis);
    if (!one) return std::nullopt;
    pattern.kind = ConstantPattern::Kind::uniform;
    pattern.one = *one;
  } else if (isCounted(constant, along)) {
    pattern.kind = ConstantPattern::Kind::counted;
    pattern.start = constant.intAt(0);
  } else if (isCausal(constant, axis, pattern)) {
    pattern.kind = ConstantPattern::Kind::causal;
  }
  return pattern;
}

}  // namespace dyn
