#include "compiler/ops/rules/strided_walk.h"

#include <algorithm>
#include <cstring>

namespace dyn {

std::vector<int64_t> rowMajorStrides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

std::vector<int64_t> broadcastStrides(std::span<const int64_t> shape, std::span<const int64_t> result) {
  const std::vector<int64_t> own = rowMajorStrides(shape);
  std::vector<int64_t> strides(result.size(), 0);
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t from = shape.size() - 1 - k;
    if (shape[from] != 1) strides[result.size() - 1 - k] = own[from];
  }
  return strides;
}

std::optional<std::vector<int64_t>> broadcastConcrete(std::span<const int64_t> a,
                                                      std::span<const int64_t> b) {
  std::vector<int64_t> result(std::max(a.size(), b.size()));
  for (size_t k = 0; k < result.size(); ++k) {
    const int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1;
    const int64_t y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[result.size() - 1 - k] = x == 1 ? y : x;
  }
  return result;
}

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

int64_t sizeProduct(std::span<const int64_t> shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape[i];
  return product;
}

OffsetWalk::OffsetWalk(std::vector<int64_t> shape, std::vector<std::vector<int64_t>> strides,
                       std::vector<int64_t> starts)
    : shape_(std::move(shape)),
      index_(shape_.size(), 0),
      offsets_(std::move(starts)),
      strides_(std::move(strides)) {
  offsets_.resize(strides_.size(), 0);
}

void OffsetWalk::next() {
  for (size_t axis = shape_.size(); axis-- > 0;) {
    if (++index_[axis] < shape_[axis]) {
      for (size_t k = 0; k < offsets_.size(); ++k) offsets_[k] += strides_[k][axis];
      return;
    }
    for (size_t k = 0; k < offsets_.size(); ++k) offsets_[k] -= strides_[k][axis] * (shape_[axis] - 1);
    index_[axis] = 0;
  }
}

struct RowWalk::Merged {
  std::vector<int64_t> shape;                 // the outer axes
  std::vector<std::vector<int64_t>> strides;  // of them
  std::vector<int64_t> steps;                 // of the rows
  int64_t count = 1;                          // elements of a row
  int64_t elements = 1;
};

RowWalk::Merged RowWalk::merge(std::vector<int64_t> shape, std::vector<std::vector<int64_t>> strides) {
  Merged merged;
  merged.elements = sizeProduct(shape, 0, static_cast<int>(shape.size()));
  merged.strides.resize(strides.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    const auto goesOn = [&](size_t k) { return merged.strides[k].back() == strides[k][axis] * shape[axis]; };
    bool joins = !merged.shape.empty();
    for (size_t k = 0; joins && k < strides.size(); ++k) joins = goesOn(k);
    if (joins) {
      merged.shape.back() *= shape[axis];
      for (size_t k = 0; k < strides.size(); ++k) merged.strides[k].back() = strides[k][axis];
    } else {
      merged.shape.push_back(shape[axis]);
      for (size_t k = 0; k < strides.size(); ++k) merged.strides[k].push_back(strides[k][axis]);
    }
  }
  merged.steps.assign(strides.size(), 0);
  if (merged.shape.empty()) return merged;
  merged.count = merged.shape.back();
  merged.shape.pop_back();
  for (size_t k = 0; k < strides.size(); ++k) {
    merged.steps[k] = merged.strides[k].back();
    merged.strides[k].pop_back();
  }
  return merged;
}

RowWalk::RowWalk(std::vector<int64_t> shape, std::vector<std::vector<int64_t>> strides)
    : RowWalk(merge(std::move(shape), std::move(strides))) {}

RowWalk::RowWalk(Merged merged)
    : end_(merged.elements),
      count_(merged.count),
      steps_(std::move(merged.steps)),
      outer_(std::move(merged.shape), std::move(merged.strides)) {}

void RowWalk::next() {
  first_ += count_;
  outer_.next();
}

ElementCopier::ElementCopier(HostTensor& to, const HostTensor& from)
    : to_(to),
      from_(from),
      target_(to.dtype() == Dtype::string ? nullptr : to.mutableData()),
      source_(from.data()),
      bytes_(storageBytes(to.dtype())) {}

void ElementCopier::copy(int64_t toFlat, int64_t fromFlat) const {
  if (to_.dtype() == Dtype::string) {
    to_.mutableStringValues()[toFlat] = from_.stringValues()[fromFlat];
    return;
  }
  std::memcpy(target_ + toFlat * bytes_, source_ + fromFlat * bytes_, static_cast<size_t>(bytes_));
}

Result<HostTensor> newTensor(Dtype dtype, std::vector<int64_t> shape) {
  if (dtype != Dtype::string) return HostTensor::create(dtype, std::move(shape));
  int64_t count = 1;
  for (int64_t size : shape) {
    std::optional<int64_t> product = checkedMul(count, size);
    if (!product) return makeError(DiagnosticId::dimOverflow, "a string tensor is too large");
    count = *product;
  }
  return HostTensor::strings(std::move(shape), std::vector<std::string>(static_cast<size_t>(count)));
}

std::vector<int64_t> elementsOf(const HostTensor& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.elementCount()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.intAt(static_cast<int64_t>(i));
  return values;
}

}  // namespace dyn
