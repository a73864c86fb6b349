#include "compiler/passes/layout/spread_window.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/rules/window_rules.h"

namespace dyn::passes {

namespace {

// Weights meet the pads of the convolution: 0 times a weight that is no finite number would be none.
bool areFinite(const HostTensor& weights) {
  const auto* from = reinterpret_cast<const float*>(weights.data());
  return std::all_of(from, from + weights.elementCount(), [](float w) { return std::isfinite(w); });
}

}  // namespace

std::optional<SpreadWindow> spreadWindowOf(const Op& op, const HostTensor& weights, const Shape& x) {
  if (op.attributes.integer("group", 1) != 1 || op.attributes.has("output_shape")) return std::nullopt;
  const Result<Window> window = windowOf(op, 2);
  if (!window.ok() || window->isSame() || window->dilations != std::vector<int64_t>{1, 1})
    return std::nullopt;
  std::vector<int64_t> extra = op.attributes.integers("output_padding");
  extra.resize(2, 0);
  const bool isOnePlace = x[2].isConstant(1) && x[3].isConstant(1);
  SpreadWindow result;
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t kernel = weights.shape()[2 + axis], stride = isOnePlace ? kernel : window->strides[axis];
    if (kernel % stride != 0) return std::nullopt;
    result.phases[axis] = stride;
    result.taps[axis] = kernel / stride;
    result.cutBegin[axis] = window->padsBegin[axis];
    result.cutEnd[axis] = window->padsEnd[axis] - extra[axis];
    if (result.cutBegin[axis] < 0 || result.cutEnd[axis] < 0) return std::nullopt;
  }
  if (result.overlaps() && !areFinite(weights)) return std::nullopt;
  return result;
}

HostTensor phaseWeights(const HostTensor& weights, const SpreadWindow& window) {
  const std::vector<int64_t>& sizes = weights.shape();  // [c, m, h, w]
  const auto [rows, columns] = window.phases;
  const auto [high, wide] = window.taps;
  HostTensor result = *HostTensor::create(Dtype::f32, {rows * columns * sizes[1], sizes[0], high, wide});
  const auto* from = reinterpret_cast<const float*>(weights.data());
  auto* to = reinterpret_cast<float*>(result.mutableData());
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t q = 0; q < columns; ++q)
      for (int64_t m = 0; m < sizes[1]; ++m)
        for (int64_t c = 0; c < sizes[0]; ++c)
          for (int64_t t = high - 1; t >= 0; --t)  // the last tap meets the first place
            for (int64_t u = wide - 1; u >= 0; --u)
              *to++ = from[((c * sizes[1] + m) * sizes[2] + t * rows + p) * sizes[3] + u * columns + q];
  return result;
}

}  // namespace dyn::passes
