// What the ways to convolve bytes share.
#pragma once

#include <algorithm>
#include <cstring>

#include "vm/kernels/byte/byte_gemm.h"
#include "vm/kernels/conv/convolution.h"

namespace dyn::vm::kernels {

struct ByteConvolution {
  const FlatCall& call;
  const ByteGemmFamily& family;
  const Convolution& c;
  const TensorView *x, *w;
  const TensorView *zeroX, *zeroW;  // null: 0
  int32_t* y;
  const Epilogue& epilogue;
  bool channelsLast;  // of the weights: [m, k..., c/group]

  int32_t zeroOfX() const { return zeroAt(zeroX, 0); }
  const uint8_t* inputOf(int64_t image, int64_t group) const {
    return x->as<uint8_t>() + (image * c.groups + group) * c.channels * c.inputSize();
  }
};

// One channel and a few filters a group, whose rows with their padding are no longer than memory may be:
// strides far beyond the image go as other convolutions do.
inline bool isDepthwise(const Convolution& c) {
  constexpr int64_t kFewFilters = 8;  // more of them fill the lanes of a product
  if (c.channels != 1 || c.filters < 1 || (c.filters > 1 && (c.groups == 1 || c.filters > kFewFilters)))
    return false;
  constexpr double kMostBytes = 1 << 26;
  const auto real = [](int64_t x) { return static_cast<double>(x); };
  const double width = std::max(real(c.output[2]), 1.0),
               rows = std::clamp(real(ByteProduct::kTileElements) / width, 1.0, real(c.output[1]) + 1),
               length = width * real(c.stride[2]) + real(c.reach(2)) + 1;
  return real(c.kernel[0]) * (rows * real(c.stride[1]) + real(c.reach(1)) + 1) * length < kMostBytes;
}

// One channel and a few filters a group: for each filter the channel is framed with its padding, a few rows
// at a time, and summed row by row of the output.
Status byteDepthwise(FlatCall& memory, const ByteConvolution& p);
// Elements of scratch memory it takes.
int64_t byteDepthwiseScratch(const FlatCall& call, const Convolution& c);

// Runs are a row of an image or less: too short for the library's calls.
inline void copyRun(uint8_t* to, const uint8_t* from, int64_t count) {
  typedef uint8_t Sixteen __attribute__((vector_size(16), aligned(1), may_alias));
  typedef uint8_t Eight __attribute__((vector_size(8), aligned(1), may_alias));
  if (count < 8) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  if (count < 16) {
    const Eight first = *reinterpret_cast<const Eight*>(from),
                last = *reinterpret_cast<const Eight*>(from + count - 8);
    *reinterpret_cast<Eight*>(to) = first;
    *reinterpret_cast<Eight*>(to + count - 8) = last;
    return;
  }
  auto copy = [&](int64_t at) {
    *reinterpret_cast<Sixteen*>(to + at) = *reinterpret_cast<const Sixteen*>(from + at);
  };
  for (int64_t at = 0; at + 16 <= count; at += 16) copy(at);
  copy(count - 16);
}
inline void fillRun(uint8_t* to, uint8_t value, int64_t count) {
  if (count == 1)
    *to = value;
  else if (count > 0)
    memset(to, value, static_cast<size_t>(count));
}

}  // namespace dyn::vm::kernels
