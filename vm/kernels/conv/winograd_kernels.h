// The transforms of Winograd's convolutions for one vector width. Plain functions: the files that define them
// are compiled for one instruction set each.
//
// A block is a square of outputs and the square of inputs its windows read. One is seen through `places`:
// sums and differences of inputs of which each is multiplied with its own sum of weights. Along one axis, for
// windows of three:
//   stride 1: 4 inputs, 2 outputs, 4 places; weights u0..u3
//   stride 2: 7 inputs, 3 outputs, 7 places: 4 of the even inputs, weights u0..u3, and the 3 odd inputs themselves, all of weight u4
// In two axes place (i, j) has the number i * places + j.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// Where the vectors of a place lie: those of block t at begin + t * step floats.
struct WinogradPlace {
  int64_t begin, step;
};

// Reads blocks side by side from patch[row * leading + column * step], one channel in each of `lanes` lanes,
// and writes their places to v.
using WinogradInput = void (*)(const float* patch, int64_t leading, int64_t step, int64_t blocks, float* v,
                               const WinogradPlace* places);
// Reads the products of blocks side by side, `vectors` vectors of filters each, and writes them from
// outputs[row * leading + column * step] on.
using WinogradOutput = void (*)(const float* m, const WinogradPlace* places, int64_t blocks, int64_t vectors,
                                float* outputs, int64_t leading, int64_t step);

struct WinogradKernels {
  WinogradInput input[2];  // [stride - 1]
  WinogradOutput output[2];
};

// For the CPU it runs on.
const WinogradKernels& winogradKernels();

}  // namespace dyn::vm::kernels
