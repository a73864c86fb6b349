// What a call of `conv` or `conv_transpose` asks for, its sizes checked: shared by the ways to do it.
#pragma once

#include <algorithm>
#include <array>

#include "vm/core/builtin.h"
#include "vm/kernels/epilogue.h"

namespace dyn::vm::kernels {

// All shapes are seen with three spatial dims; missing leading ones are 1.
struct Convolution {
  int64_t batch = 0, groups = 1, channels = 0, filters = 0;  // channels and filters per group
  std::array<int64_t, 3> input{1, 1, 1}, kernel{1, 1, 1}, output{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1},
      pad{0, 0, 0};
  int64_t inputSize() const { return input[0] * input[1] * input[2]; }
  int64_t outputSize() const { return output[0] * output[1] * output[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return channels * taps(); }
  double steps() const;  // multiply-adds of all images
};

// Reads the call, whose x, w and y are tensors. w is [groups * filters, channels, kernel...] in conv, where output o and tap t meet at input
// o * stride + t * dilation - pad; it is [groups * channels, filters, kernel...] in conv_transpose, where input and output change places.
// Every such position, and the element counts of the input and of the window, can be computed without overflow. Errors: unsupported rank, shapes that
// do not fit, numbers out of range.
Status describeConvolution(const BuiltinCall& call, const Tensor* x, const Tensor* w, const Tensor* y,
                           bool transposed, Convolution& c);
// The same for tensors of any element types.
Status describeWindows(const BuiltinCall& call, const Tensor* x, const Tensor* w, const Tensor* y,
                       bool transposed, Convolution& c);

// The places p >= 0 for which 0 <= p * stride + shift < size: [low, high).
struct Places {
  int64_t low = 0, high = 0;
  Places within(int64_t begin, int64_t end) const {
    const int64_t from = std::clamp(low, begin, end);
    return {from, std::clamp(high, from, end)};
  }
};
inline Places placesInside(int64_t shift, int64_t stride, int64_t size) {
  return {shift >= 0 ? 0 : (-shift + stride - 1) / stride,
          shift >= size ? 0 : (size - shift + stride - 1) / stride};
}

// 3x3 windows at stride 1 with 2.25 times fewer multiplications (winograd.cpp). `pays`: they are what the convolution has, with channels, filters and
// positions enough to outweigh the transforms.
bool winogradPays(const Convolution& c);
// x, w, bias (or null) and y as in conv, f32.
Status convWinograd(BuiltinCall& call, const Convolution& c, const Tensor* x, const Tensor* w,
                    const float* bias, Tensor* y, const Epilogue& epilogue);

}  // namespace dyn::vm::kernels
