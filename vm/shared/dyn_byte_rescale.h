/* What a convolution of bytes with packed weights makes of its sums itself: bytes. Its call's arguments then
 * have, before those of the epilogue, a bias of i32 [filters], the scales, f32 [filters], and a zero point, a
 * whole number as f32 []; each of them may be one number for all, the first and the last may be left out:
 *   byte = round(max(f32(sum + bias) * scale, relu ? 0 : any)) + zero, cut to what the result's bytes hold
 * rounded to even. Then, with a shortcut, the arguments have behind them bytes of the result's shape and five
 * numbers as f32 [5], factor, other, constant, low and zero. Of w, a byte less its zero, and the shortcut's
 * byte b (i8: more 128) it becomes
 *   byte = round(max(w * factor + (b * other + constant), low)) + zero, cut to what the result's bytes hold
 * where low and zero are whole numbers. The first three are such that no rounding of a product changes it.
 * An epilogue reads these bytes, in place. This form stands where floats have the number of
 * their way (LaidNumber), for compiler and runtime alike. C++, header only. */
#ifndef DYN_BYTE_RESCALE_H
#define DYN_BYTE_RESCALE_H

#include <cstdint>

namespace dyn {

struct ByteRescaleForm {
  bool bias = false, zero = false, relu = false, shortcut = false;

  static constexpr int32_t kRescales = 1, kBias = 2, kZero = 4, kRelu = 8, kShortcut = 16, kMost = 31;
  static constexpr int64_t kShortcutNumbers = 5;

  int32_t number() const {
    return kRescales + (bias ? kBias : 0) + (zero ? kZero : 0) + (relu ? kRelu : 0) +
           (shortcut ? kShortcut : 0);
  }
  // Of one that rescales.
  static ByteRescaleForm of(int32_t number) {
    return {(number & kBias) != 0, (number & kZero) != 0, (number & kRelu) != 0, (number & kShortcut) != 0};
  }
  static bool isKnown(int32_t number) {
    return number == 0 || (number > 0 && number <= kMost && (number & kRescales) != 0);
  }
};

}  // namespace dyn

#endif
