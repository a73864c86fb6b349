// The innermost loops of pools, for one vector width. Plain functions: the files that define them are
// compiled for one instruction set each.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// out[i] = rows[0][i] combined with rows[1][i] ..., i < columns.
using PoolRowsKernel = void (*)(int64_t count, const float* const* rows, int64_t columns, float* out);
// out[i] = row[i * stride] combined with row[i * stride + dilation] ..., `taps` of them, i < columns. May
// read 2 vectors beyond the last tap.
using PoolColumnsKernel = void (*)(int64_t taps, int64_t stride, int64_t dilation, const float* row,
                                   int64_t columns, float* out);

// Planes in the lanes, as many as a vector has: out[i * lanes + lane] = a[offsets[0] + i * strideA + lane]
// combined with a[offsets[1] + ...] ..., `taps` of them, at least one; i < positions.
using PoolLanesKernel = void (*)(int64_t taps, const float* a, int64_t strideA, const int64_t* offsets,
                                 int64_t positions, float* out);

// out[i] /= counts[i] * count, and out[i] /= count; i < columns.
using PoolMeansKernel = void (*)(int64_t columns, const float* counts, float count, float* out);
using PoolMeansOfOneCountKernel = void (*)(int64_t columns, float count, float* out);

struct PoolKernels {
  int32_t slack;  // floats that PoolColumnsKernel may read beyond the last tap
  PoolRowsKernel maximaOfRows, sumsOfRows;
  PoolColumnsKernel maximaOfColumns, sumsOfColumns;
  PoolLanesKernel maximaOfLanes, sumsOfLanes;
  PoolMeansKernel means;
  PoolMeansOfOneCountKernel meansOfOneCount;
};

// For the CPU it runs on.
const PoolKernels& poolKernels();

}  // namespace dyn::vm::kernels
