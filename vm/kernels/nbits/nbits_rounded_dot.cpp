// Rows rounded to 8 bits times weights of 4 bits: sums of a block are of integers, and exact. Compiled for
// Armv8.2 with dot products; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

#include "vm/kernels/nbits/nbits_kernel.h"

namespace {

using namespace dyn::vm::kernels;

// Weights are at most 15: as signed numbers they are the same.
inline int8x16_t lowHalves(uint8x16_t bytes) { return vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))); }
inline int8x16_t highHalves(uint8x16_t bytes) { return vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)); }

// Weights that one vector holds, and where the numbers of even depth that they meet lie; those of odd depth
// are half a run behind.
constexpr int64_t kStep = 32, kToOdd = kRoundedRun / 2;
inline int64_t evenPlace(int64_t depth) {
  return depth / kRoundedRun * kRoundedRun + depth % kRoundedRun / 2;
}

// Rows times one column: memory is read in one stream.
template <int kRows>
void dotsOfColumn(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, float* out,
                  int64_t leadingOut) {
  const uint8_t* weights = m.weights + column * m.columnBytes();
  const float* scales = m.scales + column * m.blocks;
  float32x4_t sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) sums[r] = vdupq_n_f32(0);
  int64_t depth = 0;
  for (int64_t block = 0; block < m.blocks; ++block) {
    const auto zero = static_cast<int32_t>(nbitsZero(m, column, block));
    int32x4_t whole[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
      whole[r] = vsetq_lane_s32(rows.blockSums[r * rows.blocks + block] * zero, vdupq_n_s32(0), 0);
    for (const int64_t end = depth + m.block; depth < end; depth += kStep, weights += kStep / 2) {
      const uint8x16_t bytes = vld1q_u8(weights);
      const int8x16_t low = lowHalves(bytes), high = highHalves(bytes);
      const int8_t* numbers = rows.numbers + evenPlace(depth);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const int8_t* own = numbers + r * rows.leading;
        whole[r] = vdotq_s32(whole[r], low, vld1q_s8(own));
        whole[r] = vdotq_s32(whole[r], high, vld1q_s8(own + kToOdd));
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
      sums[r] =
          vfmaq_n_f32(sums[r], vcvtq_f32_s32(whole[r]), scales[block] * rows.scales[r * rows.blocks + block]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) out[r * leadingOut] = vaddvq_f32(sums[r]);
}

void dots(const NbitsMatrix& m, const RoundedRows& rows, int64_t count, int64_t column, int64_t columns,
          float* out, int64_t leadingOut) {
  for (int64_t i = 0; i < columns; ++i) {
    if (count == 1)
      dotsOfColumn<1>(m, rows, column + i, out + i, leadingOut);
    else if (count == 2)
      dotsOfColumn<2>(m, rows, column + i, out + i, leadingOut);
    else if (count == 3)
      dotsOfColumn<3>(m, rows, column + i, out + i, leadingOut);
    else
      dotsOfColumn<4>(m, rows, column + i, out + i, leadingOut);
  }
}

// Weights of sixteen columns for some blocks. Of each 32 depths eight words, sixteen columns of each: four of
// even depth, then four of odd depth.
struct Panel {
  int8_t* numbers;
  float* scales;   // [blocks, 16]
  int32_t* zeros;  // [blocks, 16]

  Panel(const NbitsMatrix& m, uint8_t* memory) {
    const int64_t blocks = roundedBlocksAtOnce(m.block);
    numbers = reinterpret_cast<int8_t*>(memory);
    scales = reinterpret_cast<float*>(memory + blocks * m.block * kRoundedColumns);
    zeros = reinterpret_cast<int32_t*>(scales + blocks * kRoundedColumns);
  }
};

// Words of four columns, a column in each vector, become the columns of four words.
inline void turnWords(const int8x16_t (&columns)[4], int8_t* to) {
  const int32x4_t a = vreinterpretq_s32_s8(columns[0]), b = vreinterpretq_s32_s8(columns[1]),
                  c = vreinterpretq_s32_s8(columns[2]), d = vreinterpretq_s32_s8(columns[3]);
  const int64x2_t even = vreinterpretq_s64_s32(vtrn1q_s32(a, b)),
                  odd = vreinterpretq_s64_s32(vtrn2q_s32(a, b)),
                  evenOther = vreinterpretq_s64_s32(vtrn1q_s32(c, d)),
                  oddOther = vreinterpretq_s64_s32(vtrn2q_s32(c, d));
  constexpr int64_t kWordBytes = kRoundedColumns * 4;
  vst1q_s8(to, vreinterpretq_s8_s64(vtrn1q_s64(even, evenOther)));
  vst1q_s8(to + kWordBytes, vreinterpretq_s8_s64(vtrn1q_s64(odd, oddOther)));
  vst1q_s8(to + 2 * kWordBytes, vreinterpretq_s8_s64(vtrn2q_s64(even, evenOther)));
  vst1q_s8(to + 3 * kWordBytes, vreinterpretq_s8_s64(vtrn2q_s64(odd, oddOther)));
}

void unpack(const NbitsMatrix& m, int64_t column, int64_t columns, int64_t first, int64_t blocks,
            const Panel& panel) {
  const int64_t columnBytes = m.columnBytes();
  const uint8_t* from = m.weights + column * columnBytes + first * m.block / 2;
  int8_t* to = panel.numbers;
  for (int64_t depth = 0; depth < blocks * m.block;
       depth += kStep, from += kStep / 2, to += kStep * kRoundedColumns)
    for (int64_t i = 0; i < kRoundedColumns; i += 4) {
      int8x16_t low[4], high[4];
      for (int64_t j = 0; j < 4; ++j) {
        const uint8x16_t bytes = i + j < columns ? vld1q_u8(from + (i + j) * columnBytes) : vdupq_n_u8(0);
        low[j] = lowHalves(bytes);
        high[j] = highHalves(bytes);
      }
      turnWords(low, to + i * 4);
      turnWords(high, to + i * 4 + kStep / 2 * kRoundedColumns);
    }
  for (int64_t i = 0; i < kRoundedColumns; ++i)
    for (int64_t block = 0; block < blocks; ++block) {
      const bool there = i < columns;
      panel.scales[block * kRoundedColumns + i] =
          there ? m.scales[(column + i) * m.blocks + first + block] : 0.0f;
      panel.zeros[block * kRoundedColumns + i] =
          there ? static_cast<int32_t>(nbitsZero(m, column + i, first + block)) : 0;
    }
}

constexpr int kVectors = kRoundedColumns / 4;

// One word of each row, that with this number, times its columns.
template <int kWord, int kRows>
inline __attribute__((always_inline)) void multiplyWord(int32x4_t (&whole)[kRows][kVectors],
                                                        const int8x16_t (&left)[kRows],
                                                        const int8_t* weights) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int8x16_t right = vld1q_s8(weights + (kWord * kVectors + v) * 16);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) whole[r][v] = vdotq_laneq_s32(whole[r][v], right, left[r], kWord);
  }
}

template <int kRows>
void tile(const NbitsMatrix& m, const RoundedRows& rows, int64_t row, int64_t first, int64_t blocks,
          const Panel& panel, int64_t columns, float* out, int64_t leadingOut) {
  const int8_t* numbers = rows.numbers + row * rows.leading;
  const int8_t* weights = panel.numbers;
  alignas(16) float sums[kRows][kRoundedColumns] = {};
  if (first > 0)
    for (int r = 0; r < kRows; ++r)
      for (int64_t i = 0; i < columns; ++i) sums[r][i] = out[r * leadingOut + i];
  for (int64_t block = first; block < first + blocks; ++block) {
    const int64_t at = (block - first) * kRoundedColumns;
    int32x4_t whole[kRows][kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        whole[r][v] =
            vmulq_n_s32(vld1q_s32(panel.zeros + at + v * 4), rows.blockSums[(row + r) * rows.blocks + block]);
    for (int64_t depth = block * m.block; depth < (block + 1) * m.block; depth += kStep)
#pragma GCC unroll 2
      for (int64_t half = 0; half < 2; ++half, weights += kStep / 2 * kRoundedColumns) {
        int8x16_t left[kRows];
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r)
          left[r] = vld1q_s8(numbers + r * rows.leading + evenPlace(depth) + half * kToOdd);
        multiplyWord<0>(whole, left, weights);
        multiplyWord<1>(whole, left, weights);
        multiplyWord<2>(whole, left, weights);
        multiplyWord<3>(whole, left, weights);
      }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float own = rows.scales[(row + r) * rows.blocks + block];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const float32x4_t scales = vmulq_n_f32(vld1q_f32(panel.scales + at + v * 4), own);
        vst1q_f32(sums[r] + v * 4, vfmaq_f32(vld1q_f32(sums[r] + v * 4), vcvtq_f32_s32(whole[r][v]), scales));
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int64_t i = 0; i < columns; ++i) out[r * leadingOut + i] = sums[r][i];
}

void panelOf(const NbitsMatrix& m, const RoundedRows& rows, int64_t count, int64_t column, int64_t columns,
             uint8_t* memory, float* out, int64_t leadingOut) {
  const Panel panel(m, memory);
  const int64_t together = roundedBlocksAtOnce(m.block);
  for (int64_t first = 0; first < m.blocks; first += together) {
    const int64_t blocks = together < m.blocks - first ? together : m.blocks - first;
    unpack(m, column, columns, first, blocks, panel);
    for (int64_t row = 0; row < count; row += 4) {
      float* to = out + row * leadingOut;
      switch (count - row) {
        case 1:
          tile<1>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
          break;
        case 2:
          tile<2>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
          break;
        case 3:
          tile<3>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
          break;
        default:
          tile<4>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
      }
    }
  }
}

}  // namespace

namespace dyn::vm::kernels {
extern const RoundedKernels nbitsRoundedDot;
const RoundedKernels nbitsRoundedDot = {dots, panelOf, 4, 4};
}  // namespace dyn::vm::kernels
#endif
