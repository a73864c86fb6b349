// The innermost loops of Fourier transforms, for one vector width. Plain functions: the files that define them are compiled for one instruction set each.
// Complex numbers are split: a block [n, width] holds n * width real parts, then as many imaginary parts.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// One step of a transform by Stockham's scheme: blocks of `radix * rest` rows become `radix` times as many blocks of `rest` rows.
template <typename T>
struct FourierStage {
  int64_t radix = 1, rest = 1;
  const T* twiddles = nullptr;  // [rest, radix - 1, 2]: exp(-2 pi i p k / (radix * rest)), k from 1
  const T* roots = nullptr;     // [radix, 2]: cos and sin of 2 pi k / radix
};

template <typename T>
struct FourierKernels {
  int32_t lanes;  // of a vector

  // The transforms of `width` columns (a multiple of lanes) of a block [length, width] in `from`, by all stages in turn; `other` is as large. Returns
  // which of the two holds the result.
  T* (*columns)(const FourierStage<T>* stages, int64_t count, int64_t length, int64_t width, T* from,
                T* other);
  // to[j * leadingTo + i] = from[i * leadingFrom + j], i < rows, j < columns. Reads whole vectors of `from`; fills rows of `to` up to whole vectors with 0.
  void (*transpose)(int64_t rows, int64_t columns, const T* from, int64_t leadingFrom, T* to,
                    int64_t leadingTo);
  // (real, imaginary)[i] *= (a, b)[i]
  void (*multiply)(int64_t count, const T* a, const T* b, T* real, T* imaginary);
  // real[i] = from[2 * i], imaginary[i] = from[2 * i + 1], i < count; and back, times scale and imaginaryScale.
  void (*split)(int64_t count, const T* from, T* real, T* imaginary);
  void (*join)(int64_t count, const T* real, const T* imaginary, T scale, T imaginaryScale, T* to);
  // From the transform z [half, width] of the even reals (as real parts) and the odd ones (as imaginary parts), the first half + 1 rows of the transform of
  // all 2 * half reals. turns: [half + 1, 2], cos and sin of pi k / half.
  void (*untangle)(int64_t half, int64_t width, const T* turns, const T* zReal, const T* zImaginary, T* xReal,
                   T* xImaginary);
  // Back, twice as large; what the imaginary parts of rows 0 and `half` hold does not count.
  void (*tangle)(int64_t half, int64_t width, const T* turns, const T* xReal, const T* xImaginary, T* zReal,
                 T* zImaginary);
};

// For the CPU it runs on.
template <typename T>
const FourierKernels<T>& fourierKernels();
template <>
const FourierKernels<float>& fourierKernels<float>();
template <>
const FourierKernels<double>& fourierKernels<double>();

}  // namespace dyn::vm::kernels
