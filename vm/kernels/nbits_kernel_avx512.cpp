// Weights of few bits, sixteen at a time: a block's sixteen weights are a table in one register. Compiled for AVX-512; nothing else may be in this
// file (vm/CMakeLists.txt).
#if defined(__AVX512F__)
#include <immintrin.h>

#include "vm/kernels/nbits_kernel.h"

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

constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of the forms without a mask (GCC bug 105593)

inline __m512i widened(const uint8_t* bytes) {
  return _mm512_maskz_cvtepu8_epi32(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// The look-up reads the low four bits of its index.
inline void decode(const uint8_t* bytes, const Levels& levels, Sums& low, Sums& high) {
  const __m512i both = widened(bytes);
  low = reinterpret_cast<Sums>(_mm512_maskz_permutexvar_ps(kAll, both, levels.table));
  high = reinterpret_cast<Sums>(
      _mm512_maskz_permutexvar_ps(kAll, _mm512_maskz_srli_epi32(kAll, both, 4), levels.table));
}

inline Sums decodeBytes(const uint8_t* bytes, const Levels& levels) {
  const __m512 less =
      _mm512_sub_ps(_mm512_maskz_cvtepi32_ps(kAll, widened(bytes)), _mm512_set1_ps(levels.zero));
  return reinterpret_cast<Sums>(_mm512_mul_ps(less, _mm512_set1_ps(levels.scale)));
}

}  // namespace

#define DYN_LANES 16
#define DYN_KERNELS nbitsAvx512
#define DYN_NAME "avx512"
#include "vm/kernels/nbits_kernel.inc"
#endif
