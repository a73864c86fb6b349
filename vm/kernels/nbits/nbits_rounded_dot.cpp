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
  const auto whole = static_cast<uint64_t>(depth), within = whole % kRoundedRun;
  return static_cast<int64_t>(whole - within + within / 2);
}

// An address that is taken as it is: places near it are told by it alone.
template <typename T>
inline const T* held(const T* address) {
  __asm__("" : "+r"(address));
  return address;
}

// Rows times a few columns: what a block of a row needs is read once for all of them. Each element of the
// result has the same bits for any number of rows and of columns.
template <int kRows, int kColumns, bool kOwnZeros, bool kShortBlocks>
struct FewColumns {
  using Whole = int32x4_t[kRows][kColumns];
  using Sums = float32x4_t[kRows][kColumns];
  using Weights = const uint8_t* [kColumns];
  struct Group {  // what four blocks of the first row have
    const int8_t* numbers;
    const int32_t* blockSums;
  };

  const NbitsMatrix& m;
  const RoundedRows& rows;
  const int64_t column, block = kShortBlocks ? kStep : m.block;

  // blockSum: of the first row.
  inline __attribute__((always_inline)) void begin(int64_t at, const int32_t* blockSum, Whole& whole) const {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const int32x4_t sum = vsetq_lane_s32(blockSum[r * rows.blocks], vdupq_n_s32(0), 0);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c)
        whole[r][c] = kOwnZeros ? vmulq_n_s32(sum, static_cast<int32_t>(nbitsZero(m, column + c, at)))
                                : vmulq_n_s32(sum, static_cast<int32_t>(nbitsUsualZero(4)));
    }
  }

  // One step: weights from this place of each column, and the numbers that they meet.
  inline __attribute__((always_inline)) void multiply(const Weights& from, int64_t place,
                                                      const int8_t* numbers, Whole& whole) const {
    int8x16_t low[kColumns], high[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      const uint8x16_t bytes = vld1q_u8(from[c] + place);
      low[c] = lowHalves(bytes);
      high[c] = highHalves(bytes);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const int8x16_t even = vld1q_s8(numbers + r * rows.leading),
                      odd = vld1q_s8(numbers + r * rows.leading + kToOdd);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c)
        whole[r][c] = vdotq_s32(vdotq_s32(whole[r][c], low[c], even), high[c], odd);
    }
  }

  // Scales of four blocks, of which one is taken.
  template <int kBlock>
  inline __attribute__((always_inline)) void addBlock(const Weights& from, int64_t first, const Group& group,
                                                      const float32x4_t (&scales)[kRows][kColumns],
                                                      Sums& sums) const {
    const int64_t at = first + kBlock;
    Whole whole;
    begin(at, group.blockSums + kBlock, whole);
    if constexpr (kShortBlocks)  // four of them are a run
      multiply(from, kBlock * kStep / 2, group.numbers + kBlock * kStep / 2, whole);
    else
      for (int64_t depth = at * block; depth < (at + 1) * block; depth += kStep)
        multiply(from, (depth - first * block) / 2, rows.numbers + evenPlace(depth), whole);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c)
        sums[r][c] = vfmaq_laneq_f32(sums[r][c], vcvtq_f32_s32(whole[r][c]), scales[r][c], kBlock);
  }

  inline __attribute__((always_inline)) void run(float* out, int64_t leadingOut) const {
    Sums sums, scales;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sums[r][c] = vdupq_n_f32(0);
    const float* columnScales = m.scales + column * m.blocks;
    Weights from;
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) from[c] = m.weights + (column + c) * m.columnBytes();
    int64_t at = 0;
    for (; at + 4 <= m.blocks; at += 4) {
      const Group group{held(rows.numbers + at * block), held(rows.blockSums + at)};
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c)
          scales[r][c] = vmulq_f32(vld1q_f32(columnScales + c * m.blocks + at),
                                   vld1q_f32(rows.scales + r * rows.blocks + at));
      addBlock<0>(from, at, group, scales, sums);
      addBlock<1>(from, at, group, scales, sums);
      addBlock<2>(from, at, group, scales, sums);
      addBlock<3>(from, at, group, scales, sums);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) from[c] += 2 * block;
    }
    // Those that are left, at most three.
    const auto scaleOf = [&](int r, int c, int64_t i) __attribute__((always_inline)) {
      return at + i < m.blocks ? columnScales[c * m.blocks + at + i] * rows.scales[r * rows.blocks + at + i]
                               : 0.0f;
    };
    if (at < m.blocks) {
      const Group group{rows.numbers + at * block, rows.blockSums + at};
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) {
          const float left[4] = {scaleOf(r, c, 0), scaleOf(r, c, 1), scaleOf(r, c, 2), 0.0f};
          scales[r][c] = vld1q_f32(left);
        }
      addBlock<0>(from, at, group, scales, sums);
      if (at + 1 < m.blocks) addBlock<1>(from, at, group, scales, sums);
      if (at + 2 < m.blocks) addBlock<2>(from, at, group, scales, sums);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) out[r * leadingOut + c] = vaddvq_f32(sums[r][c]);
  }
};

template <int kRows, bool kOwnZeros, bool kShortBlocks>
void dotsOfRows(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, int64_t columns, float* out,
                int64_t leadingOut) {
  constexpr int kColumns = kRows <= 2 ? 4 : 2;  // whose sums stay in registers
  int64_t i = 0;
  for (; i + kColumns <= columns; i += kColumns)
    FewColumns<kRows, kColumns, kOwnZeros, kShortBlocks>{m, rows, column + i}.run(out + i, leadingOut);
  for (; i < columns; ++i)
    FewColumns<kRows, 1, kOwnZeros, kShortBlocks>{m, rows, column + i}.run(out + i, leadingOut);
}

template <int kRows>
void dotsOfRows(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, int64_t columns, float* out,
                int64_t leadingOut) {
  if (m.block != kStep)
    dotsOfRows<kRows, true, false>(m, rows, column, columns, out, leadingOut);
  else if (m.zeros)
    dotsOfRows<kRows, true, true>(m, rows, column, columns, out, leadingOut);
  else
    dotsOfRows<kRows, false, true>(m, rows, column, columns, out, leadingOut);
}

void dots(const NbitsMatrix& m, const RoundedRows& rows, int64_t count, int64_t column, int64_t columns,
          float* out, int64_t leadingOut) {
  if (count == 1)
    dotsOfRows<1>(m, rows, column, columns, out, leadingOut);
  else if (count == 2)
    dotsOfRows<2>(m, rows, column, columns, out, leadingOut);
  else if (count == 3)
    dotsOfRows<3>(m, rows, column, columns, out, leadingOut);
  else
    dotsOfRows<4>(m, rows, column, columns, out, leadingOut);
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

// Of a panel, so many vectors of columns at a time: their sums stay in registers.
constexpr int kPanelVectors = kRoundedColumns / 4, kVectors = 2;

// One word of each row, that with this number, times the columns.
template <int kWord, int kRows>
inline __attribute__((always_inline)) void multiplyWord(int32x4_t (&whole)[kRows][kVectors],
                                                        const int8x16_t (&left)[kRows],
                                                        const int8_t* weights) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int8x16_t right = vld1q_s8(weights + (kWord * kPanelVectors + v) * 16);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) whole[r][v] = vdotq_laneq_s32(whole[r][v], right, left[r], kWord);
  }
}

// Columns of the panel from `from` on, of which the matrix has `columns`.
template <int kRows>
void tile(const NbitsMatrix& m, const RoundedRows& rows, int64_t row, int64_t first, int64_t blocks,
          const Panel& panel, int64_t from, int64_t columns, float* out, int64_t leadingOut) {
  const int8_t* numbers = rows.numbers + row * rows.leading;
  const int8_t* weights = panel.numbers + from * 4;
  constexpr int64_t kColumns = kVectors * 4;
  float edge[kRows][kColumns] = {};
  if (first > 0)
    for (int r = 0; r < kRows; ++r)
      for (int64_t i = 0; i < kColumns && i < columns; ++i) edge[r][i] = out[r * leadingOut + i];
  float32x4_t sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = vld1q_f32(edge[r] + v * 4);
  for (int64_t block = first; block < first + blocks; ++block) {
    const int64_t at = (block - first) * kRoundedColumns + from;
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
    for (int v = 0; v < kVectors; ++v) {
      const float32x4_t scales = vld1q_f32(panel.scales + at + v * 4);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
        sums[r][v] = vfmaq_f32(sums[r][v], vcvtq_f32_s32(whole[r][v]),
                               vmulq_n_f32(scales, rows.scales[(row + r) * rows.blocks + block]));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) vst1q_f32(edge[r] + v * 4, sums[r][v]);
  for (int r = 0; r < kRows; ++r)
    for (int64_t i = 0; i < kColumns && i < columns; ++i) out[r * leadingOut + i] = edge[r][i];
}

template <int kRows>
void tiles(const NbitsMatrix& m, const RoundedRows& rows, int64_t row, int64_t first, int64_t blocks,
           const Panel& panel, int64_t columns, float* out, int64_t leadingOut) {
  for (int64_t from = 0; from < columns; from += kVectors * 4)
    tile<kRows>(m, rows, row, first, blocks, panel, from, columns - from, out + from, leadingOut);
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
          tiles<1>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
          break;
        case 2:
          tiles<2>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
          break;
        case 3:
          tiles<3>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
          break;
        default:
          tiles<4>(m, rows, row, first, blocks, panel, columns, to, leadingOut);
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
