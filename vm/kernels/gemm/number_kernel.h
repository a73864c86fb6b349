// The micro-kernels of products of f64 and integers, and of a few rows of f32. Types only: they are compiled
// for several instruction sets.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// C[rows, columns] (+)= A[rows, depth] * B[depth, panel width], B packed as one panel, columns beyond N zero.
template <typename T>
using NumberKernel = void (*)(int64_t depth, const T* a, int64_t leadingA, const T* b, T* c, int64_t leadingC,
                              int64_t columns, int32_t accumulate);

// C[rows, columns] = A[rows, depth] * B[depth, columns] for one to three rows, B read in place: its rows are
// runs of memory.
template <typename T>
using RowsInPlace = void (*)(int64_t rows, int64_t depth, const T* a, int64_t strideAM, int64_t strideAK,
                             const T* b, int64_t strideBK, T* c, int64_t strideCM, int64_t columns);

// The same where the columns of B are the runs, and the rows of A: sums of a vector's lanes, so that their
// order is the machine's.
template <typename T>
using DotsInPlace = void (*)(int64_t rows, int64_t depth, const T* a, int64_t strideAM, const T* b,
                             int64_t strideBN, T* c, int64_t strideCM, int64_t columns);

// Softmax of each row in place, f32: of (keep & scale * x) + addend, where keep has all bits of a column or
// none. `columns` is a multiple of 16; an addend of -inf where keep is 0 leaves a column out.
using SoftmaxRows = void (*)(int64_t rows, int64_t columns, float* x, int64_t stride, float scale,
                             const int32_t* keep, const float* addend);

template <typename T>
struct NumberFamily {
  int64_t maxRows, panelWidth;
  const NumberKernel<T>* microKernels;  // [rows - 1]
  RowsInPlace<T> rowsInPlace;
  DotsInPlace<T> dotsInPlace;
};

// Signed integers are computed as unsigned ones.
struct NumberFamilies {
  RowsInPlace<float> rowsOfF32;  // its tiles are those of a DynGemmFamily
  DotsInPlace<float> dotsOfF32;
  SoftmaxRows softmaxOfF32;
  NumberFamily<double> f64;
  NumberFamily<uint32_t> i32;
  NumberFamily<uint64_t> i64;
};

}  // namespace dyn::vm::kernels
