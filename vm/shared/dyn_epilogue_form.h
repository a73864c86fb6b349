/* The number that names the epilogue of a product or convolution, and the form that it may have.
 *
 * A closed epilogue is one that a hand-written kernel may compute by itself, while a tile is in the first
 * cache, instead of calling the generated kernel:
 *
 *   c[row, column] = min(high, max(low, c[row, column] + bias[column]))
 *
 * of f32, each of the three there or not. Its buffers come first among those of the epilogue, in this order:
 * bias, one for each column, then low and high, of one element each; kZero: low is 0 and has no buffer. Both
 * give the same bits: a sum that is NaN stays NaN, one that equals a bound stays as it is; where a bound is
 * NaN, only the generated kernel will do.
 *
 * An even epilogue makes each element of the same elements of tensors of its shape and of single elements
 * alone: rows that are whole may be told to its kernel as one long row, whose vectors they fill together.
 * (C++20, header only.) */
#ifndef DYN_EPILOGUE_FORM_H
#define DYN_EPILOGUE_FORM_H

#include <cstdint>

namespace dyn {

struct EpilogueForm {
  bool bias = false, low = false, zero = false, high = false;
  bool even = false;  // and not closed

  bool isClosed() const { return bias || low || zero || high; }
  bool operator==(const EpilogueForm&) const = default;
};

/* As a call has it: 1 + the kernel, or 0 for none, and the form above it. */
struct EpilogueNumber {
  int32_t kernelPlusOne = 0;
  EpilogueForm form;

  static constexpr int32_t kKernelBits = 27, kMostKernels = (1 << kKernelBits) - 1;

  static constexpr int32_t kEven = 6;  // two lower bounds, which no closed form has

  static constexpr EpilogueNumber parted(int32_t number) {
    const int32_t bits = number >> kKernelBits;
    if (bits == kEven) return {number & kMostKernels, {.even = true}};
    return {number & kMostKernels, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0}};
  }
  constexpr int32_t number() const {
    const int32_t bits =
        form.even ? kEven
                  : (form.bias ? 1 : 0) | (form.low ? 2 : 0) | (form.zero ? 4 : 0) | (form.high ? 8 : 0);
    return kernelPlusOne | bits << kKernelBits;
  }
};

}  // namespace dyn

#endif
