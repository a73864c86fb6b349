// Images as convolutions and pools see them, [n, channels, spatial...], and as they lie: in planes, so, or
// with their channels last, [n, spatial..., channels]. Rules are written for planes; an operator that has
// the attribute `layout` asks here on both sides of them: `asPlanes` for what it reads, `asLaid` for what
// it makes.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "compiler/ir/op_def.h"
#include "vm/shared/dyn_byte_window.h"  // how weights of bytes stand for such images
#include "vm/shared/dyn_layout.h"

namespace dyn {

inline constexpr std::string_view kChannelsLast = "channels_last", kToChannelsLast = "to_channels_last";
#define DYN_LAYOUT_ATTRIBUTE                                                                          \
  {                                                                                                   \
    "layout", AttributeKind::string, false,                                                           \
        "planes, or channels_last: operand and result are [n, spatial..., channels]; default planes", \
        Allowed::oneOf("planes channels_last")                                                        \
  }

ImageLayout layoutOf(const Op& op);
bool readsChannelsLast(const Op& op);
bool makesChannelsLast(const Op& op);

// One entry per axis: from planes to channels last, and back.
template <typename T>
std::vector<T> withChannelsLast(std::span<const T> planes) {
  std::vector<T> last(planes.begin(), planes.end());
  if (last.size() > 2) std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  return last;
}
template <typename T>
std::vector<T> withPlanes(std::span<const T> last) {
  std::vector<T> planes(last.begin(), last.end());
  if (planes.size() > 2) std::rotate(planes.begin() + 1, planes.end() - 1, planes.end());
  return planes;
}

// The same where the operation has its channels last; else as they are.
template <typename T>
std::vector<T> asPlanes(const Op& op, std::span<const T> laid) {
  return readsChannelsLast(op) ? withPlanes(laid) : std::vector<T>(laid.begin(), laid.end());
}
template <typename T>
std::vector<T> asLaid(const Op& op, std::span<const T> planes) {
  return makesChannelsLast(op) ? withChannelsLast(planes) : std::vector<T>(planes.begin(), planes.end());
}
Result<HostTensor> asPlanes(const Op& op, const HostTensor& laid);
Result<HostTensor> asLaid(const Op& op, const HostTensor& planes);

// Axis i of the result is axis order[i] of `x`.
Result<HostTensor> transposed(const HostTensor& x, std::span<const int64_t> order);

}  // namespace dyn
