// Rows of a matrix that lie across memory, copied so that they lie along it.
//
//   to[i][j] = from[i + j * stride]
//
// The elements of a row are a line of memory or more apart, often so that they fall into the same few sets of
// the cache: each line is read once, for all rows that have elements in it, before the next ones are.
#pragma once

#include <algorithm>
#include <type_traits>

#include "vm/kernels/four.h"

namespace dyn::vm::kernels {

// to[k][i] = from[i][k] for a block of 4 x 4; `from` may lie anywhere.
inline void transposeFours(const float* from, int64_t fromStride, float* to, int64_t toStride) {
  Four rows[4];
  for (int64_t i = 0; i < 4; ++i) rows[i] = fourAnywhere(from + i * fromStride);
  transpose(rows);
  for (int64_t k = 0; k < 4; ++k) four(to + k * toStride) = rows[k];
}

// `leading`: from row to row of `to`, in elements.
template <typename T>
void copyTurned(const T* from, int64_t rows, int64_t columns, int64_t stride, T* to, int64_t leading) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t first = 0; first < rows; first += kLine) {
    const int64_t last = std::min(first + kLine, rows);
    int64_t j = 0;
    if constexpr (std::is_same_v<T, float>) {
      for (; j + 4 <= columns; j += 4) {
        int64_t i = first;
        for (; i + 4 <= last; i += 4)
          transposeFours(from + j * stride + i, stride, to + i * leading + j, leading);
        for (; i < last; ++i)
          for (int64_t k = j; k < j + 4; ++k) to[i * leading + k] = from[i + k * stride];
      }
    }
    for (; j < columns; ++j)
      for (int64_t i = first; i < last; ++i) to[i * leading + j] = from[i + j * stride];
  }
}

}  // namespace dyn::vm::kernels
