#include "compiler/ops/rules/layout_rules.h"

#include <numeric>

#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

ImageLayout layoutOf(const Op& op) {
  const std::string name = op.attributes.string("layout");
  if (name == kChannelsLast) return ImageLayout::channelsLast;
  return name == kToChannelsLast ? ImageLayout::toChannelsLast : ImageLayout::planes;
}

bool readsChannelsLast(const Op& op) { return layoutOf(op) == ImageLayout::channelsLast; }
bool makesChannelsLast(const Op& op) { return layoutOf(op) != ImageLayout::planes; }

Result<HostTensor> transposed(const HostTensor& x, std::span<const int64_t> order) {
  const std::vector<int64_t> from = rowMajorStrides(x.shape());
  std::vector<int64_t> shape, strides;
  for (int64_t axis : order) {
    shape.push_back(x.shape()[static_cast<size_t>(axis)]);
    strides.push_back(from[static_cast<size_t>(axis)]);
  }
  DYN_TRY(HostTensor result, HostTensor::create(x.dtype(), shape));
  const ElementCopier copier(result, x);
  OffsetWalk walk(shape, {strides});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) copier.copy(i, walk.offset(0));
  return result;
}

namespace {

std::vector<int64_t> layoutAxesOf(const HostTensor& x) {
  std::vector<int64_t> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

Result<HostTensor> asPlanes(const Op& op, const HostTensor& laid) {
  if (!readsChannelsLast(op)) return laid;
  return transposed(laid, withPlanes<int64_t>(layoutAxesOf(laid)));
}

Result<HostTensor> asLaid(const Op& op, const HostTensor& planes) {
  if (!makesChannelsLast(op)) return planes;
  return transposed(planes, withChannelsLast<int64_t>(layoutAxesOf(planes)));
}

}  // namespace dyn
