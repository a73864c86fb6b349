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
  return _mm512_srli_epi32(lanes, kBlocks == 4 ? 2 : 3);
}

// Zero points of the `blocks` from `block` on, each lane its own. `zeros`: of the column.
template <int kBlocks>
inline __m512i zerosOf(const uint8_t* zeros, int64_t block, int64_t blocks) {
  int32_t bytes = zeros[block / 2];
  if constexpr (kBlocks == 1) return _mm512_set1_epi32(bytes >> (block % 2 * 4) & 15);
  if (kBlocks == 4 && blocks > 2) bytes |= zeros[block / 2 + 1] << 8;
  const __m512i shifts = _mm512_slli_epi32(blockOfLane<kBlocks>(), 2);
  return _mm512_and_si512(_mm512_srlv_epi32(_mm512_set1_epi32(bytes), shifts), _mm512_set1_epi32(15));
}

template <int kBlocks, bool kWhole>
inline __m512 scalesOf(const float* scales, int64_t blocks) {
  if constexpr (kBlocks == 1) return _mm512_set1_ps(*scales);
  __m512 each;
  if constexpr (kWhole)
    each = _mm512_castps128_ps512(_mm_loadu_ps(scales));
  else
    each = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1 << blocks) - 1), scales);
  return _mm512_permutexvar_ps(blockOfLane<kBlocks>(), each);
}

// Bytes from the ones being read to those that are asked for: memory is as far away as that.
constexpr int64_t kAhead = 2048;

// Rows times one column, a group at a time: memory is read in one stream. kBlocks: of a group of one run, or
// 1: a group is one block of whole runs.
template <int kRows, int kBlocks, bool kZeros>
struct ColumnDots {
  const uint8_t* weights;
  const uint8_t* zeros;
  const float* scales;
  const int8_t* numbers;
  const int32_t* laneSums;
  const float* laneScales;
  int64_t leading, leadingLanes, runs, blocks;
  __m512 sums[kRows];

  ColumnDots(const NbitsMatrix& m, const RoundedRows& rows, int64_t column)
      : weights(m.weights + column * m.columnBytes()),
        zeros(kZeros ? m.zeros + column * m.zeroBytes() : nullptr),
        scales(m.scales + column * m.blocks),
        numbers(rows.numbers),
        laneSums(rows.laneSums),
        laneScales(rows.laneScales),
        leading(rows.leading),
        leadingLanes(rows.groups * kRoundedLanes),
        runs(kBlocks == 1 ? m.block / kRoundedRun : 1),
        blocks(m.blocks) {
    for (__m512& sum : sums) sum = _mm512_setzero_ps();
  }

  // `bytes`: of the column that are left.
  template <bool kWhole>
  inline __attribute__((always_inline)) void add(int64_t group, int64_t bytes) {
    const int64_t block = group * kBlocks;
    __m512i whole[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512i lanes = _mm512_loadu_si512(laneSums + r * leadingLanes + group * kRoundedLanes);
      whole[r] = kZeros ? _mm512_mullo_epi32(lanes, zerosOf<kBlocks>(zeros, block, blocks - block))
                        : _mm512_slli_epi32(lanes, 3);
    }
    for (int64_t run = 0; run < runs; ++run) {
      const uint8_t* from = weights + (group * runs + run) * (kRoundedRun / 2);
      const int8_t* words = numbers + (group * runs + run) * kRoundedRun;
      _mm_prefetch(reinterpret_cast<const char*>(from + kAhead), _MM_HINT_T0);
      const __m512i read =
          kWhole ? _mm512_loadu_si512(from) : _mm512_maskz_loadu_epi8((uint64_t{1} << bytes) - 1, from);
      const __m512i low = lowHalves(read), high = highHalves(read);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        whole[r] = _mm512_dpbusd_epi32(whole[r], low, _mm512_loadu_si512(words + r * leading));
        whole[r] = _mm512_dpbusd_epi32(whole[r], high, _mm512_loadu_si512(words + r * leading + 64));
      }
    }
    const __m512 all = scalesOf < kBlocks,
                 kWhole && kBlocks != 2 > (scales + block, kWhole ? kBlocks : blocks - block);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512 own = _mm512_loadu_ps(laneScales + r * leadingLanes + group * kRoundedLanes);
      sums[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole[r]), _mm512_mul_ps(all, own), sums[r]);
    }
  }
};

template <int kRows, int kBlocks, bool kZeros>
void dotsOf(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, int64_t columns, float* out,
            int64_t leadingOut) {
  const int64_t whole = m.blocks / kBlocks, bytes = m.columnBytes() - whole * (kRoundedRun / 2);
  for (int64_t i = 0; i < columns; ++i) {
    ColumnDots<kRows, kBlocks, kZeros> dots(m, rows, column + i);
    for (int64_t group = 0; group < whole; ++group) dots.template add<true>(group, 0);
    if constexpr (kBlocks > 1)
      if (bytes > 0) dots.template add<false>(whole, bytes);
    for (int r = 0; r < kRows; ++r) out[r * leadingOut + i] = _mm512_reduce_add_ps(dots.sums[r]);
  }
}

template <int kRows, int kBlocks>
void dotsOfColumns(const NbitsMatrix& m, const RoundedRows& rows, int64_t column, int64_t columns, float* out,
                   int64_t leadingOut) {
  if (m.zeros) return dotsOf<kRows, kBlocks, true>(m, rows, column, columns, out, leadingOut);
  dotsOf<kRows, kBlocks, false>(m, rows, column, columns, out, leadingOut);
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
  int32_t* zeros;  // [blocks, 16], where the matrix gives some

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
  // What is unpacked next: more blocks of these columns, or the first of others.
  const bool isLast = first + blocks == m.blocks;
  const uint8_t* next =
      isLast ? m.weights + (column + kRoundedColumns) * columnBytes : from + blocks * m.block / 2;
  uint8_t* to = panel.numbers;
  for (int64_t depth = 0; depth < blocks * m.block; depth += 32, from += 16, next += 16) {
    for (int64_t i = 0; i < 4; ++i) __builtin_prefetch(next + (depth / 8 % 16 + i) * columnBytes);
    __m512i words[4];
    transposeWords(from, columnBytes, columns, words);
    for (const __m512i bytes : words) {
      _mm512_storeu_si512(to, lowHalves(bytes));
      _mm512_storeu_si512(to + 64, highHalves(bytes));
      to += 128;
    }
  }
  const auto there = static_cast<__mmask16>(0xffffu >> (16 - columns));
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i places = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int32_t>(m.blocks)));
  const float* scales = m.scales + column * m.blocks + first;
  const float* nextScales = isLast ? m.scales + (column + kRoundedColumns) * m.blocks : scales + blocks;
  for (int64_t i = 0; i < kRoundedColumns; ++i) __builtin_prefetch(nextScales + i * m.blocks);
  for (int64_t block = 0; block < blocks; ++block)
    _mm512_storeu_ps(panel.scales + block * kRoundedColumns,
                     _mm512_mask_i32gather_ps(_mm512_setzero_ps(), there, places, scales + block, 4));
  for (int64_t i = 0; m.zeros && i < kRoundedColumns; ++i)
    for (int64_t block = 0; block < blocks; ++block)
      panel.zeros[block * kRoundedColumns + i] =
          i < columns ? static_cast<int32_t>(nbitsZero(m, column + i, first + block)) : 0;
}

template <int kRows, bool kZeros>
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
    const __m512i zeros =
        kZeros ? _mm512_loadu_si512(panel.zeros + block * kRoundedColumns) : _mm512_setzero_si512();
    __m512i whole[kRows];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const __m512i rowSum = everyLane(rowSums + r * rows.blocks + first + block);
      whole[r] = kZeros ? _mm512_mullo_epi32(zeros, rowSum) : _mm512_slli_epi32(rowSum, 3);
    }
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
  const auto tiles = m.zeros ? tile<kRows, true> : tile<kRows, false>;
  tiles(m, rows, row, first, blocks, panel, columns, out, leadingOut);
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
const RoundedKernels nbitsRoundedVnni = {dots, panelOf, 8, 6};
}  // namespace dyn::vm::kernels
#endif
