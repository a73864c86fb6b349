/* How images lie: what the calls of conv_packed and pool say of it, for compiler and runtime alike. It stands
 * in one of their numbers (way, kind), above what that says besides. C++, header only. */
#ifndef DYN_LAYOUT_H
#define DYN_LAYOUT_H

#include <cstdint>

namespace dyn {

enum class ImageLayout : int32_t {
  planes,          // [n, channels, spatial...]
  channelsLast,    // [n, spatial..., channels]
  toChannelsLast,  // the operand in planes, the result with its channels last
};

struct LaidNumber {
  static constexpr int32_t kUnit = 64;

  int32_t number = 0;  // below kUnit
  ImageLayout layout = ImageLayout::planes;

  int32_t joined() const { return number + kUnit * static_cast<int32_t>(layout); }
  // One that nobody has joined has a layout or a number that is refused.
  static LaidNumber parted(int32_t joined) {
    return {joined % kUnit, static_cast<ImageLayout>(joined / kUnit)};
  }
  bool isKnown() const {
    return number >= 0 && layout >= ImageLayout::planes && layout <= ImageLayout::toChannelsLast;
  }
};

}  // namespace dyn

#endif
