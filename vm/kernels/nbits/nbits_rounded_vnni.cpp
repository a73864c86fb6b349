// Rows rounded to 8 bits times weights of 4 bits: sums of a block are of integers, and exact. Compiled for
// AVX-512 with VNNI; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#include <immintrin.h>

#include "vm/kernels/nbits/nbits_kernel.h"

namespace {

using namespace dyn::vm::kernels;

inline __m512i lowHalves(__m512i bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }
inline __m512i highHalves(__m512i bytes) { return lowHalves(_mm512_srli_epi16(bytes, 4)); }
inline __m512i everyLane(const void* word) {
  int32_t value;
  __builtin_memcpy(&value, word, sizeof value);
  return _mm512_set1_epi32(value);
}

// Which of a group's blocks a lane belongs to.
template <int kBlocks>
inline __m512i blockOfLane() {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_srli_epi32(lanes, kBlocks == 4 ? 2 : kBlocks == 2 ? 3 : 4);
}

// Of the `blocks` from `block` on, each lane its own.
template <int kBlocks>
inline __m512i zerosOf(const NbitsMatrix& m, int64_t column, int64_t block, int64_t blocks) {
  if (!m.zeros) return _mm512_set1_epi32(8);
  const uint8_t* from = m.zeros + column * m.zeroBytes() + block / 2;
  int32_t bytes = from[0];
  if (kBlocks == 4 && blocks > 2) bytes |= from[1] << 8;
  const __m512i shifts = _mm512_slli_epi32(blockOfLane<kBlocks>(), 2);
  return _mm512_and_si512(_mm512_srlv_epi32(_mm512_set1_epi32(bytes >> (block % 2 * 4)), shifts),
                          _mm512_set1_epi32(15));
}

template <int kBlocks>
inline __m512 ofLanes(const float* scales, int64_t blocks) {
  const auto mask = static_cast<__mmask16>((1 << (blocks < kBlocks ? blocks : kBlocks)) - 1);
  return _mm512_permutexvar_ps(blockOfLane<kBlocks>(), _mm512_maskz_loadu_ps(mask, scales));
}

// kBlocks: of a group of one run, or 1: a group is one block of whole runs.
template <int kRows, int kColumns, int kBlocks>
void dotsOf(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, float* out, int64_t leadingOut) {
  __m512 sums[kRows][kColumns];
  for (auto& row : sums)
    for (auto& sum : row) sum = _mm512_setzero_ps();
  const int64_t columnBytes = m.columnBytes(), runs = kBlocks > 1 ? 1 : m.block / kRoundedRun;
  const uint8_t* weights = m.weights + column * columnBytes;
  for (int64_t group = 0, at = 0; group < rows.groups; ++group) {
    const int64_t block = group * kBlocks, blocks = m.blocks - block;
    __m512 rowScales[kRows];
    for (int r = 0; r < kRows; ++r)
      rowScales[r] = ofLanes<kBlocks>(rows.scales + r * rows.blocks + block, blocks);
#pragma GCC unroll 4
    for (int i = 0; i < kColumns; ++i) {
      const __m512i zeros = zerosOf<kBlocks>(m, column + i, block, blocks);
      __m512i whole[kRows];
      for (int r = 0; r < kRows; ++r) {
        const __m512i lanes = _mm512_loadu_si512(rows.laneSums + (r * rows.groups + group) * kRoundedLanes);
        whole[r] = m.zeros ? _mm512_mullo_epi32(lanes, zeros) : _mm512_slli_epi32(lanes, 3);
      }
      for (int64_t run = 0; run < runs; ++run) {
        const int64_t begin = at + run * (kRoundedRun / 2), left = columnBytes - begin;
        const uint8_t* from = weights + i * columnBytes + begin;
        _mm_prefetch(reinterpret_cast<const char*>(from + kColumns * columnBytes), _MM_HINT_T0);
        const __m512i bytes =
            left >= 64 ? _mm512_loadu_si512(from) : _mm512_maskz_loadu_epi8((uint64_t{1} << left) - 1, from);
        const __m512i low = lowHalves(bytes), high = highHalves(bytes);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const int8_t* numbers = rows.numbers + r * rows.leading + 2 * begin;
          whole[r] = _mm512_dpbusd_epi32(whole[r], low, _mm512_loadu_si512(numbers));
          whole[r] = _mm512_dpbusd_epi32(whole[r], high, _mm512_loadu_si512(numbers + 64));
        }
      }
      const __m512 scales = ofLanes<kBlocks>(m.scales + (column + i) * m.blocks + block, blocks);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
        sums[r][i] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole[r]), _mm512_mul_ps(scales, rowScales[r]), sums[r][i]);
    }
    at += runs * (kRoundedRun / 2);
  }
  for (int r = 0; r < kRows; ++r)
    for (int i = 0; i < kColumns; ++i) out[r * leadingOut + i] = _mm512_reduce_add_ps(sums[r][i]);
}

template <int kRows, int kBlocks>
void dotsOfColumns(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, int64_t columns, float* out,
                   int64_t leadingOut) {
  int64_t i = 0;
  for (; i + 4 <= columns; i += 4) dotsOf<kRows, 4, kBlocks>(m, rows, column + i, out + i, leadingOut);
  for (; i < columns; ++i) dotsOf<kRows, 1, kBlocks>(m, rows, column + i, out + i, leadingOut);
}

template <int kRows>
void dotsOfRows(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, int64_t columns, float* out,
                int64_t leadingOut) {
  if (m.block == 32) return dotsOfColumns<kRows, 4>(m, rows, column, columns, out, leadingOut);
  if (m.block == 64) return dotsOfColumns<kRows, 2>(m, rows, column, columns, out, leadingOut);
  dotsOfColumns<kRows, 1>(m, rows, column, columns, out, leadingOut);
}

void dots(const NbitsMatrix& m, const RoundedRows& rows, int64_t count, int64_t column, int64_t columns,
          float* out, int64_t leadingOut) {
  if (count == 1) return dotsOfRows<1>(m, rows, column, columns, out, leadingOut);
  if (count == 2) return dotsOfRows<2>(m, rows, column, columns, out, leadingOut);
  if (count == 3) return dotsOfRows<3>(m, rows, column, columns, out, leadingOut);
  dotsOfRows<4>(m, rows, column, columns, out, leadingOut);
}

// Weights of sixteen columns for some blocks. Of each 32 depths eight vectors, a column in each lane: depths
// 0, 2, 4, 6, then 1, 3, 5, 7, then those from 8 on.
struct Panel {
  uint8_t* numbers;
  float* scales;   // [blocks, 16]
  int32_t* zeros;  // [blocks, 16]

  Panel(const NbitsMatrix& m, uint8_t* memory) {
    const int64_t blocks = roundedBlocksAtOnce(m.block);
    numbers = memory;
    scales = reinterpret_cast<float*>(memory + blocks * m.block * kRoundedColumns);
    zeros = reinterpret_cast<int32_t*>(scales + blocks * kRoundedColumns);
  }
};

// Sixteen bytes of each column become four vectors, four bytes of each column in each.
inline void transposeWords(const uint8_t* from, int64_t stride, int64_t columns, __m512i (&words)[4]) {
  __m512i parts[4];
  const auto at = [&](int64_t i) {
    return i < columns ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * stride))
                       : _mm_setzero_si128();
  };
  for (int64_t i = 0; i < 4; ++i) {
    parts[i] = _mm512_castsi128_si512(at(i));
    parts[i] = _mm512_inserti32x4(parts[i], at(4 + i), 1);
    parts[i] = _mm512_inserti32x4(parts[i], at(8 + i), 2);
    parts[i] = _mm512_inserti32x4(parts[i], at(12 + i), 3);
  }
  const __m512i a = _mm512_unpacklo_epi32(parts[0], parts[1]), b = _mm512_unpackhi_epi32(parts[0], parts[1]),
                c = _mm512_unpacklo_epi32(parts[2], parts[3]), d = _mm512_unpackhi_epi32(parts[2], parts[3]);
  words[0] = _mm512_unpacklo_epi64(a, c);
  words[1] = _mm512_unpackhi_epi64(a, c);
  words[2] = _mm512_unpacklo_epi64(b, d);
  words[3] = _mm512_unpackhi_epi64(b, d);
}

void unpack(const NbitsMatrix& m, int64_t column, int64_t columns, int64_t first, int64_t blocks,
            const Panel& panel) {
  const int64_t columnBytes = m.columnBytes();
  const uint8_t* from = m.weights + column * columnBytes + first * m.block / 2;
  uint8_t* to = panel.numbers;
  for (int64_t depth = 0; depth < blocks * m.block; depth += 32, from += 16) {
    __m512i words[4];
    transposeWords(from, columnBytes, columns, words);
    for (const __m512i bytes : words) {
      _mm512_storeu_si512(to, lowHalves(bytes));
      _mm512_storeu_si512(to + 64, highHalves(bytes));
      to += 128;
    }
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

template <int kRows>
void tile(const NbitsMatrix& m, const RoundedRows& rows, int64_t row, int64_t first, int64_t blocks,
          const Panel& panel, int64_t columns, float* out, int64_t leadingOut) {
  const auto mask = static_cast<__mmask16>(0xffffu >> (16 - columns));
  const int8_t* numbers = rows.numbers + row * rows.leading;
  const float* rowScales = rows.scales + row * rows.blocks;
  const int32_t* rowSums = rows.blockSums + row * rows.blocks;
  const uint8_t* weights = panel.numbers;
  __m512 sums[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
    sums[r] = first > 0 ? _mm512_maskz_loadu_ps(mask, out + r * leadingOut) : _mm512_setzero_ps();
  for (int64_t block = 0; block < blocks; ++block) {
    const __m512i zeros = _mm512_loadu_si512(panel.zeros + block * kRoundedColumns);
    __m512i whole[kRows];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r)
      whole[r] = _mm512_mullo_epi32(zeros, everyLane(rowSums + r * rows.blocks + first + block));
    for (int64_t depth = (first + block) * m.block; depth < (first + block + 1) * m.block; depth += 32) {
      const int8_t* left = numbers + depth / kRoundedRun * kRoundedRun + depth % kRoundedRun / 2;
#pragma GCC unroll 8
      for (int step = 0; step < 8; ++step, weights += 64) {
        const __m512i right = _mm512_loadu_si512(weights);
        const int8_t* words = left + step % 2 * (kRoundedRun / 2) + step / 2 * 4;
#pragma GCC unroll 12
        for (int r = 0; r < kRows; ++r)
          whole[r] = _mm512_dpbusd_epi32(whole[r], right, everyLane(words + r * rows.leading));
      }
    }
    const __m512 scales = _mm512_loadu_ps(panel.scales + block * kRoundedColumns);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r)
      sums[r] = _mm512_fmadd_ps(
          _mm512_cvtepi32_ps(whole[r]),
          _mm512_mul_ps(scales, _mm512_set1_ps(rowScales[r * rows.blocks + first + block])), sums[r]);
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) _mm512_mask_storeu_ps(out + r * leadingOut, mask, sums[r]);
}

constexpr int kMostRows = 12;

template <int kRows>
void tileOf(int64_t count, const NbitsMatrix& m, const RoundedRows& rows, int64_t row, int64_t first,
            int64_t blocks, const Panel& panel, int64_t columns, float* out, int64_t leadingOut) {
  if constexpr (kRows > 1)
    if (count < kRows)
      return tileOf<kRows - 1>(count, m, rows, row, first, blocks, panel, columns, out, leadingOut);
  tile<kRows>(m, rows, row, first, blocks, panel, columns, out, leadingOut);
}

void panelOf(const NbitsMatrix& m, const RoundedRows& rows, int64_t count, int64_t column, int64_t columns,
             uint8_t* memory, float* out, int64_t leadingOut) {
  const Panel panel(m, memory);
  const int64_t together = roundedBlocksAtOnce(m.block), tiles = (count + kMostRows - 1) / kMostRows;
  for (int64_t first = 0; first < m.blocks; first += together) {
    const int64_t blocks = together < m.blocks - first ? together : m.blocks - first;
    unpack(m, column, columns, first, blocks, panel);
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t row = count * i / tiles, end = count * (i + 1) / tiles;
      tileOf<kMostRows>(end - row, m, rows, row, first, blocks, panel, columns, out + row * leadingOut,
                        leadingOut);
    }
  }
}

}  // namespace

namespace dyn::vm::kernels {
extern const RoundedKernels nbitsRoundedVnni;
const RoundedKernels nbitsRoundedVnni = {dots, panelOf};
}  // namespace dyn::vm::kernels
#endif
