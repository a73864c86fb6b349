#include "app/engine/generalise/constant_pattern.h"

#include <cmath>
#include <cstring>
#include <vector>

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

std::optional<HostTensor> rowOf(const HostTensor& constant, const Along& along, size_t axis, int64_t row) {
  std::vector<int64_t> shape = constant.shape();
  shape[axis] = 1;
  Result<HostTensor> one = HostTensor::create(constant.dtype(), shape);
  if (!one.ok()) return std::nullopt;
  std::byte* to = one->mutableData();
  for (int64_t o = 0; to != nullptr && o < along.outer; ++o)
    std::memcpy(to + static_cast<size_t>(o) * along.rowBytes(), along.row(o, row), along.rowBytes());
  return to == nullptr ? std::nullopt : std::optional<HostTensor>(*std::move(one));
}

bool isWhole(Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::i32; }

bool isCounted(const HostTensor& constant, const Along& along) {
  if (!isWhole(constant.dtype()) || constant.intAt(0) < 0 || along.outer != 1 || along.inner != 1 ||
      along.count < 2)
    return false;
  for (int64_t i = 1; i < along.count; ++i)
    if (constant.intAt(i) != constant.intAt(0) + i) return false;
  return true;
}

double numberAt(const HostTensor& constant, int64_t flat) {
  return isInteger(constant.dtype()) ? static_cast<double>(constant.intAt(flat)) : constant.realAt(flat);
}

// [0, 1, 2], [1, 2, 3] and [5, 6, 7] stand by their first, [3, 2, 1, 0] by its last, [-2, -1, 0, 1, 2] by
// its middle.
ConstantPattern::Anchor anchorOf(double first, double last, double step) {
  using Anchor = ConstantPattern::Anchor;
  const double size = std::abs(step);
  if (first * step < 0 && last * step > 0 && std::abs(first + last) <= size) return Anchor::middle;
  return std::abs(last) <= size && std::abs(first) > size ? Anchor::end : Anchor::start;
}

// Elements whose steps along the axis are 0 or one whole number, exactly. Of two entries everything is:
// there the step has to be 1, and what does not grow be 0.
bool isLinear(const HostTensor& constant, const Along& along, size_t axis, ConstantPattern& pattern) {
  const bool isReal = constant.dtype() == Dtype::f32 || constant.dtype() == Dtype::f64;
  if ((!isReal && !isWhole(constant.dtype())) || along.count < 2) return false;
  const auto at = [&](int64_t o, int64_t i, int64_t k) {
    return numberAt(constant, (o * along.count + i) * along.inner + k);
  };
  std::vector<int64_t> shape = constant.shape();
  shape[axis] = 1;
  std::vector<double> grows;
  double step = 0;
  std::optional<ConstantPattern::Anchor> anchor;
  for (int64_t o = 0; o < along.outer; ++o)
    for (int64_t k = 0; k < along.inner; ++k) {
      const double here = at(o, 1, k) - at(o, 0, k);
      if (here != 0 && step == 0) step = here;
      if ((here != 0 && here != step) || here != std::floor(here)) return false;
      for (int64_t i = 1; i < along.count; ++i)
        if (at(o, i, k) != at(o, 0, k) + static_cast<double>(i) * here) return false;
      if (along.count == 2 && at(o, 0, k) != 0) return false;
      grows.push_back(here == 0 ? 0 : 1);
      const ConstantPattern::Anchor mine = anchorOf(at(o, 0, k), at(o, along.count - 1, k), here);
      if (here != 0) anchor = anchor.value_or(mine) == mine ? mine : ConstantPattern::Anchor::start;
    }
  if (step == 0 || (along.count == 2 && step < 1)) return false;
  Result<HostTensor> made = HostTensor::create(constant.dtype(), shape);
  pattern.anchor = *anchor;
  const std::optional<HostTensor> one = rowOf(constant, along, axis,
                                              *anchor == ConstantPattern::Anchor::start ? 0
                                              : *anchor == ConstantPattern::Anchor::end ? along.count - 1
                                                                                        : along.count / 2);
  if (!made.ok() || made->mutableData() == nullptr || !one) return false;
  for (size_t i = 0; i < grows.size(); ++i) made->setReal(static_cast<int64_t>(i), grows[i]);
  pattern.kind = ConstantPattern::Kind::linear;
  pattern.step = step;
  pattern.one = *one;
  pattern.grows = *std::move(made);
  return true;
}

// All that grow do so alike, over 1 or 2 in all.
bool isSpan(const HostTensor& constant, const Along& along, size_t axis, ConstantPattern& pattern) {
  constexpr double kRounding = 1e-5;
  if ((constant.dtype() != Dtype::f32 && constant.dtype() != Dtype::f64) || along.count < 3) return false;
  const auto at = [&](int64_t o, int64_t i, int64_t k) {
    return constant.realAt((o * along.count + i) * along.inner + k);
  };
  std::optional<double> step, first;
  std::vector<double> grows;
  for (int64_t o = 0; o < along.outer; ++o)
    for (int64_t k = 0; k < along.inner; ++k) {
      const double begin = at(o, 0, k);
      const double here = (at(o, along.count - 1, k) - begin) / static_cast<double>(along.count - 1);
      for (int64_t i = 1; i < along.count; ++i)
        if (std::abs(at(o, i, k) - begin - static_cast<double>(i) * here) > kRounding) return false;
      grows.push_back(std::abs(here) < kRounding / static_cast<double>(along.count) ? 0 : 1);
      if (grows.back() == 0) continue;
      if (std::abs(step.value_or(here) - here) > kRounding / static_cast<double>(along.count)) return false;
      if (std::abs(first.value_or(begin) - begin) > kRounding) return false;
      step = step.value_or(here);
      first = first.value_or(begin);
    }
  if (!step) return false;
  const auto whole = [](double value) { return std::abs(value - std::round(value)) < kRounding; };
  const auto isLength = [&](double value) {
    return whole(value) && (std::abs(std::round(value)) == 1 || std::abs(std::round(value)) == 2);
  };
  const double toEnd = *step * static_cast<double>(along.count - 1);
  const double inAll = *step * static_cast<double>(along.count);
  pattern.reachesEnd = isLength(toEnd) && whole(*first);
  pattern.length = std::round(pattern.reachesEnd ? toEnd : inAll);
  bool found = pattern.reachesEnd;
  for (const double offset : {0.0, 0.5})
    if (!found && isLength(inAll) && whole(*first - offset * *step)) {
      pattern.offset = offset;
      found = true;
    }
  if (!found) return false;
  pattern.begin = std::round(*first - pattern.offset * *step);
  std::vector<int64_t> shape = constant.shape();
  shape[axis] = 1;
  Result<HostTensor> made = HostTensor::create(constant.dtype(), shape);
  std::optional<HostTensor> one = rowOf(constant, along, axis, 0);
  if (!made.ok() || made->mutableData() == nullptr || !one || one->mutableData() == nullptr) return false;
  for (size_t i = 0; i < grows.size(); ++i) {
    made->setReal(static_cast<int64_t>(i), grows[i]);
    if (grows[i] != 0) one->setReal(static_cast<int64_t>(i), pattern.begin);
  }
  pattern.kind = ConstantPattern::Kind::span;
  pattern.one = *one;
  pattern.grows = *std::move(made);
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
    const std::optional<HostTensor> one = rowOf(constant, along, axis, 0);
    if (!one) return std::nullopt;
    pattern.kind = ConstantPattern::Kind::uniform;
    pattern.one = *one;
  } else if (isCounted(constant, along)) {
    pattern.kind = ConstantPattern::Kind::counted;
    pattern.start = constant.intAt(0);
  } else if (isLinear(constant, along, axis, pattern)) {
    return pattern;
  } else if (isSpan(constant, along, axis, pattern)) {
    return pattern;
  } else if (isCausal(constant, axis, pattern)) {
    pattern.kind = ConstantPattern::Kind::causal;
  }
  return pattern;
}

}  // namespace dyn
