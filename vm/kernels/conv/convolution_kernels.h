// The innermost loops of convolutions, for one vector width. Plain functions: the files that define them are
// compiled for one instruction set each, and nothing inline of others may slip in there.
//
// All sum in ascending k, each element of the result in one chain of multiply-adds: any split of the work
// gives the same bits.
#pragma once

#include <cstdint>

#include "vm/kernels/tile_end.h"

namespace dyn::vm::kernels {

// Positions in the rows of a tile, filters in its lanes:
//   c[row * leadingC + lane] = first + sum over k of a[offsets[k] + row * strideA] * b[k * width + lane],  lane < columns
// for the lanes of `width` floats that the kernel is made for; `columns` fill all vectors but the last, and
// some of that. first: what c holds where accumulate is 1, else start[lane]; start may be null: 0. Then what
// `end` says, if it is not null.
using PositionKernel = void (*)(int64_t depth, const float* a, int64_t strideA, const int64_t* offsets,
                                const float* b, float* c, int64_t leadingC, int64_t columns,
                                const float* start, int32_t accumulate, const TileEnd* end);

// Filters in the rows of a tile, positions in its lanes:
//   c[row * leadingC + lane] (+)= sum over k of a[row * leadingA + k] * b[offsets[k] + lane],  lane < columns <= wide
// Whole rows of b are read.
using FilterKernel = void (*)(int64_t depth, const float* a, int64_t leadingA, const float* b,
                              const int64_t* offsets, float* c, int64_t leadingC, int64_t columns,
                              int32_t accumulate);

// c[i] = start + sum over k of a[k] * b[offsets[k] + i] for i < columns.
using RowKernel = void (*)(int64_t depth, const float* a, const float* b, const int64_t* offsets, float start,
                           float* c, int64_t columns);

// Channels in the lanes, as many as a vector has:
//   c[i * strideC + lane] = start[lane] + sum over k of a[offsets[k] + i * strideA + lane] * b[k * lanes + lane],  i < positions
// start may be null: 0.
using LaneKernel = void (*)(int64_t depth, const float* a, int64_t strideA, const int64_t* offsets,
                            const float* b, const float* start, float* c, int64_t strideC, int64_t positions);

// Channels in the lanes of one vector, windows of as many columns as the kernel is made for, `stride` apart:
//   c[i * strideC + lane] = start[lane] + sum over h < rows, w < columns of
//     a[h * row + (i * stride + w) * place + lane] * b[(h * columns + w) * lanes + lane],  i < positions
// start may be null: 0. positions >= fewestPositions. Each place is read once for all windows of a tile that
// see it. Then what `end` says, if it is not null.
using WindowKernel = void (*)(int64_t rows, const float* a, int64_t row, int64_t place, const float* b,
                              const float* start, float* c, int64_t strideC, int64_t positions,
                              const TileEnd* end);

// to[i * lanes + lane] = from[i * stride + lane] for the lanes of one vector, i < positions.
using GatherKernel = void (*)(const float* from, int64_t stride, int64_t positions, float* to);

// y[filter * strideY + position] = tile[position * leading + filter] + bias[filter], for as many filters and
// positions as a vector has lanes. bias may be null.
using TurnKernel = void (*)(const float* tile, int64_t leading, const float* bias, float* y, int64_t strideY);

// to[places[position] + lane] = from[lane * stride + position] for the lanes of one vector, position <
// positions. Both counts are at least 1 and at most the lanes of a vector; lanes beyond `lanes` hold what the
// last one does.
using TurnToKernel = void (*)(const float* from, int64_t stride, int64_t lanes, int64_t positions,
                              const int64_t* places, float* to);

// even[i] = row[2 * i], odd[i] = row[2 * i + 1], i < columns.
using PairKernel = void (*)(const float* row, int64_t columns, float* even, float* odd);

// Rows of planes with zeros around them:
//   to[row * length + i] = padded(row, i), i < length, row < rows
// where padded(row, i) = from[row * stride + i - before] for 0 <= i - before < columns, and 0 elsewhere.
// Writes up to a vector beyond the last row. No memory of `from` is read but that of these columns.
using PadKernel = void (*)(const float* from, int64_t stride, int64_t rows, int64_t before, int64_t columns,
                           int64_t length, float* to);
// The same parted, even and odd places: even[row * length + i] = padded(row, 2 * i) and
//   odd[row * length + i] = padded(row, 2 * i + 1)
using PadPairsKernel = void (*)(const float* from, int64_t stride, int64_t rows, int64_t before,
                                int64_t columns, int64_t length, float* even, float* odd);
// to[row * columns + i] = min(max(from[row * length + i] + add, low), high), i < columns, for the bounds of
// `end`.
using UnstageKernel = void (*)(const float* from, int64_t length, int64_t rows, int64_t columns, float add,
                               TileEnd end, float* to);

// Rows of two phases in turn: to[row * strideTo + i] = add + (i even ? even : odd)[row * length + i / 2],
// i < columns, row < rows.
using ZipKernel = void (*)(const float* even, const float* odd, int64_t length, int64_t rows, int64_t columns,
                           float add, float* to, int64_t strideTo);

// to[i] += from[i], i < count.
using AddKernel = void (*)(const float* from, int64_t count, float* to);

// Of as many vectors as fill a line of the cache.
inline constexpr int64_t kLineLanes = 16;

struct ConvolutionKernels {
  int32_t maxRows;
  int32_t narrow, wide;                   // lanes: of one vector, and of several
  const PositionKernel* narrowPositions;  // maxRows entries: [rows - 1]
  const PositionKernel* widePositions;
  const FilterKernel* filters;
  RowKernel row;
  LaneKernel lanes;  // `narrow` of them
  TurnKernel turn;
  TurnToKernel turnTo;
  PairKernel unzip;
  AddKernel add;
  GatherKernel gather;
  LaneKernel line;  // kLineLanes of them
  GatherKernel gatherLine;
  int32_t fewestPositions;
  WindowKernel windows[3][2];  // of 3, 5, 7 columns, 1 or 2 places apart
  FinishKernel finish;
  PadKernel pad;
  PadPairsKernel padPairs;
  UnstageKernel unstage;
  ZipKernel zip;

  // Null: absent.
  WindowKernel window(int64_t columns, int64_t stride) const {
    return columns % 2 == 1 && columns >= 3 && columns <= 7 && stride >= 1 && stride <= 2
               ? windows[columns / 2 - 1][stride - 1]
               : nullptr;
  }
};

// For the CPU it runs on.
const ConvolutionKernels& convolutionKernels();

}  // namespace dyn::vm::kernels
