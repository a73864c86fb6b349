// The innermost loops of resize, for one vector width. Plain functions: the files that define them are
// compiled for one instruction set each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dyn::vm::kernels {

struct ResizeKernels {
  // out[i] = sum over t < taps of weights[t * columns + i] * row[places[t * columns + i]], i < columns.
  void (*sampleRow)(int64_t taps, const int32_t* places, const float* weights, int64_t columns,
                    const float* row, float* out);
  // out[i] = sum over t < taps of weights[t] * rows[t][i], i < columns.
  void (*blendRows)(int64_t taps, const float* const* rows, const float* weights, int64_t columns,
                    float* out);
  // Elements of two bytes as floats, and floats rounded to them, ties to even.
  void (*widenF16)(const std::byte* from, int64_t count, float* to);
  void (*widenBf16)(const std::byte* from, int64_t count, float* to);
  void (*narrowToF16)(const float* from, int64_t count, std::byte* to);
  void (*narrowToBf16)(const float* from, int64_t count, std::byte* to);
};

// For the CPU it runs on.
const ResizeKernels& resizeKernels();

}  // namespace dyn::vm::kernels
