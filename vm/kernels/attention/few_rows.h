// Up to three rows of f32 times a matrix that is read in place, once: C[m, n] = sum over k of A[m, k] B[k,
// n], strides in elements.
#pragma once

#include <cstdint>

#include "vm/kernels/gemm/number_gemm.h"

namespace dyn::vm::kernels {

struct FewRows {
  int64_t rows = 0, depth = 0;
  const float* a = nullptr;
  int64_t strideAM = 0, strideAK = 0;
  const float* b = nullptr;
  int64_t strideBK = 0, strideBN = 0;
  float* c = nullptr;
  int64_t strideCM = 0;

  // Columns [begin, end) where the rows of B are runs of memory (strideBN 1). Accumulates in ascending k.
  void byColumns(int64_t begin, int64_t end) const {
    numberFamilies().rowsOfF32(rows, depth, a, strideAM, strideAK, b + begin, strideBK, c + begin, strideCM,
                               end - begin);
  }

  // Columns [begin, end) where the columns of B are the runs, and the rows of A (strideBK 1, strideAK 1): dot
  // products.
  void byDots(int64_t begin, int64_t end) const {
    numberFamilies().dotsOfF32(rows, depth, a, strideAM, b + begin * strideBN, strideBN, c + begin, strideCM,
                               end - begin);
  }
};

}  // namespace dyn::vm::kernels
