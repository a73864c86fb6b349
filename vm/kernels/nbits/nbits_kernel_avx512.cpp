// Weights of few bits, sixteen at a time: a block's sixteen weights are a table in one register. Compiled for
// AVX-512; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX512F__)
#include <immintrin.h>

#include "vm/kernels/nbits/nbits_kernel.h"

namespace {

typedef float Sums __attribute__((vector_size(64), aligned(4), may_alias));

struct Levels {
  __m512 table;  // of 4-bit weights
  float scale, zero;
  Levels() = default;
  Levels(float blockScale, float blockZero) : scale(blockScale), zero(blockZero) {
    const __m512 numbers = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    table = _mm512_mul_ps(_mm512_sub_ps(numbers, _mm512_set1_ps(zero)), _mm512_set1_ps(scale));
  }
};

inline __m512i widened(const uint8_t* bytes) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// The look-up reads the low four bits of its index.
inline void decode(const uint8_t* bytes, const Levels& levels, Sums& low, Sums& high) {
  const __m512i both = widened(bytes);
  low = reinterpret_cast<Sums>(_mm512_permutexvar_ps(both, levels.table));
  high = reinterpret_cast<Sums>(_mm512_permutexvar_ps(_mm512_srli_epi32(both, 4), levels.table));
}

inline Sums decodeBytes(const uint8_t* bytes, const Levels& levels) {
  const __m512 less = _mm512_sub_ps(_mm512_cvtepi32_ps(widened(bytes)), _mm512_set1_ps(levels.zero));
  return reinterpret_cast<Sums>(_mm512_mul_ps(less, _mm512_set1_ps(levels.scale)));
}

// Row i becomes column i.
inline void transposeSixteen(__m512 (&rows)[16]) {
  __m512 pairs[16], fours[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  const auto low = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  const auto high = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  for (int i = 0; i < 16; i += 4) {
    fours[i] = low(pairs[i], pairs[i + 2]);
    fours[i + 1] = high(pairs[i], pairs[i + 2]);
    fours[i + 2] = low(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = high(pairs[i + 1], pairs[i + 3]);
  }
  // fours[4g + j] holds, in quarter q, column 4q + j of rows 4g to 4g + 3.
  for (int j = 0; j < 4; ++j) {
    const __m512 evenA = _mm512_shuffle_f32x4(fours[j], fours[4 + j], 0x88),
                 evenB = _mm512_shuffle_f32x4(fours[8 + j], fours[12 + j], 0x88),
                 oddA = _mm512_shuffle_f32x4(fours[j], fours[4 + j], 0xdd),
                 oddB = _mm512_shuffle_f32x4(fours[8 + j], fours[12 + j], 0xdd);
    rows[j] = _mm512_shuffle_f32x4(evenA, evenB, 0x88);
    rows[8 + j] = _mm512_shuffle_f32x4(evenA, evenB, 0xdd);
    rows[4 + j] = _mm512_shuffle_f32x4(oddA, oddB, 0x88);
    rows[12 + j] = _mm512_shuffle_f32x4(oddA, oddB, 0xdd);
  }
}

// Sixteen weights of 4 bits, in the order 0, 8, 1, 9, ...: lanes of even number shift the first eight, those
// of odd number the second.
inline __m512 sixteenHalves(const uint8_t* bytes, const Levels& levels) {
  const __m512i shifts = _mm512_set_epi32(28, 28, 24, 24, 20, 20, 16, 16, 12, 12, 8, 8, 4, 4, 0, 0);
  int64_t all;
  __builtin_memcpy(&all, bytes, sizeof all);
  return _mm512_permutexvar_ps(_mm512_srlv_epi32(_mm512_set1_epi64(all), shifts), levels.table);
}

template <int kBits>
void expandSixteen(const dyn::vm::kernels::NbitsMatrix& m, int64_t column, int64_t columns, int64_t first,
                   int64_t count, int64_t width, float* to) {
  const int64_t columnBytes = m.columnBytes();
  const uint8_t* bytes = m.weights + column * columnBytes + first * kBits / 8;
  int64_t fetched = 0;
  const float* nextScales = m.scales + (column + 16) * m.blocks + first / m.block;
  for (int64_t i = 0; i < 16; ++i) __builtin_prefetch(nextScales + i * m.blocks);
  for (int64_t block = first / m.block; count > 0; ++block, count -= m.block) {
    Levels levels[16];
    for (int64_t i = 0; i < columns; ++i)
      levels[i] = Levels(m.scales[(column + i) * m.blocks + block], nbitsZero(m, column + i, block));
    for (int64_t k = 0; k < m.block; k += 16) {
      // The same places of the next sixteen columns, each line of them once.
      for (int64_t i = 0; i < kBits / 2; ++i, fetched = (fetched + 1) % 16)
        __builtin_prefetch(bytes + (16 + fetched) * columnBytes);
      __m512 rows[16];
      for (int64_t i = 0; i < 16; ++i) {
        if (i >= columns)
          rows[i] = _mm512_setzero_ps();
        else if constexpr (kBits == 4)
          rows[i] = sixteenHalves(bytes + i * columnBytes, levels[i]);
        else
          rows[i] = reinterpret_cast<__m512>(decodeBytes(bytes + i * columnBytes, levels[i]));
      }
      transposeSixteen(rows);
      for (int64_t i = 0; i < 16; ++i)
        _mm512_storeu_ps(to + (kBits == 4 ? i % 2 * 8 + i / 2 : i) * width, rows[i]);
      to += 16 * width;
      bytes += 2 * kBits;
    }
  }
}

void expandPanel(const dyn::vm::kernels::NbitsMatrix& m, int64_t column, int64_t columns, int64_t first,
                 int64_t count, int64_t width, float* to) {
  for (int64_t i = 0; i < width; i += 16) {
    const int64_t now = columns - i < 16 ? (columns > i ? columns - i : 0) : 16;
    if (m.bits == 4)
      expandSixteen<4>(m, column + i, now, first, count, width, to + i);
    else
      expandSixteen<8>(m, column + i, now, first, count, width, to + i);
  }
}

}  // namespace

#define DYN_LANES 16
#define DYN_KERNELS nbitsAvx512
#define DYN_NAME "avx512"
#define DYN_EXPAND_PANEL expandPanel
#include "vm/kernels/nbits/nbits_kernel.inc"
#endif
