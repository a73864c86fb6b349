/* What a convolution of bytes with packed weights makes of its sums itself: bytes. Its call's arguments then
 * have, before those of the epilogue, a bias of i32 [filters], the scales, f32 [filters], and a zero point, a
 * whole number as f32 []; each of them may be one number for all, the first and the last may be left out:
 *   byte = round(max(f32(sum + bias) * scale, relu ? 0 : any)) + zero, cut to what the result's bytes hold
 * rounded to even. An epilogue reads these bytes, in place. This form stands where floats have the number of
 * their way (LaidNumber), for compiler and runtime alike. C++, header only. */
#ifndef DYN_BYTE_RESCALE_H
#define DYN_BYTE_RESCALE_H

#include <cstdint>

namespace dyn {

struct ByteRescaleForm {
  bool bias = false, zero = false, relu = false;

  static constexpr int32_t kRescales = 1, kBias = 2, kZero = 4, kRelu = 8, kMost = 15;

  int32_t number() const { return kRescales + (bias ? kBias : 0) + (zero ? kZero : 0) + (relu ? kRelu : 0); }
  // Of one that rescales.
  static ByteRescaleForm of(int32_t number) {
    return {(number & kBias) != 0, (number & kZero) != 0, (number & kRelu) != 0};
  }
  static bool isKnown(int32_t number) {
    return number == 0 || (number > 0 && number <= kMost && (number & kRescales) != 0);
  }
  int32_t argumentCount() const { return 1 + (bias ? 1 : 0) + (zero ? 1 : 0); }
};

}  // namespace dyn

#endif
