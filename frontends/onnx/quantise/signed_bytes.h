// Weights in 8 bits with a sign, and a scale for each channel: the largest magnitude of a channel becomes
// 127. Rounding is to nearest, halves to even.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dyn::onnx {

struct SignedBytes {
  std::vector<int8_t> numbers;  // as the elements lie
  std::vector<float> scales;    // of each channel; a weight is its number times the scale
  double relative = 0;          // norm of the error over the norm of the weights
};

// Finite elements of a tensor whose `axis` are the channels. No scale is below the one in `least`, where
// that is given.
SignedBytes signedBytes(std::span<const float> elements, std::span<const int64_t> dims, size_t axis,
                        std::span<const float> least = {});

}  // namespace dyn::onnx
