// 6x16 tiles, two products a lane and instruction, in 16 bits that cannot saturate. Compiled for AVX2;
// nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX2__)
#include <immintrin.h>

#include "vm/kernels/byte/byte_kernel.h"

namespace {

typedef uint32_t Sums __attribute__((vector_size(32), aligned(4), may_alias));
using Words = __m256i;
constexpr int kGroup = 2;

inline Words everyLane(uint32_t word) { return _mm256_set1_epi32(static_cast<int>(word)); }
inline Words lanes(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline Sums multiplyAdd(Sums sums, Words a, Words b) {
  return sums + reinterpret_cast<Sums>(_mm256_madd_epi16(a, b));
}
inline Words mixed(const uint8_t* from, const int64_t* offsets) {
  const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + offsets[0])),
                high = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + offsets[1]));
  return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(low, high));
}

inline void storeBytes(__m256i whole, uint8_t* to, int64_t columns) {
  // The lowest byte of each number, four in each half.
  const __m256i fours = _mm256_shuffle_epi8(
      whole, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1,
                              -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  const __m128i bytes = _mm_unpacklo_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
  if (columns >= 8) return _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
  uint8_t edge[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(edge), bytes);
  for (int64_t j = 0; j < columns; ++j) to[j] = edge[j];
}

// Minima and maxima give their second operand for NaN.
template <bool kSaturates>
struct Rescaler {
  __m256 low, high;
  __m256i zero;

  explicit Rescaler(const dyn::vm::kernels::ByteRescale& rescale)
      : low(_mm256_set1_ps(rescale.low)),
        high(_mm256_set1_ps(rescale.high)),
        zero(_mm256_set1_epi32(rescale.zero)) {}
  __m256 inside(Sums sums, const float* scales) const {
    const __m256 reals =
        _mm256_mul_ps(_mm256_cvtepi32_ps(reinterpret_cast<__m256i>(sums)), _mm256_loadu_ps(scales));
    return _mm256_min_ps(_mm256_max_ps(reals, low), high);
  }
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    storeBytes(_mm256_add_epi32(_mm256_cvtps_epi32(inside(sums, scales)), zero), to + at, columns);
  }
};

struct Joiner {
  const uint8_t* shortcut;
  Rescaler<false> own;
  __m256 factor, other, constant, low, high;
  __m256i zero;
  uint64_t flip;

  explicit Joiner(const dyn::vm::kernels::ByteRescale& rescale)
      : shortcut(rescale.shortcut.bytes),
        own(rescale),
        factor(_mm256_set1_ps(rescale.shortcut.factor)),
        other(_mm256_set1_ps(rescale.shortcut.other)),
        constant(_mm256_set1_ps(rescale.shortcut.constant)),
        low(_mm256_set1_ps(rescale.shortcut.low)),
        high(_mm256_set1_ps(rescale.shortcut.high)),
        zero(_mm256_set1_epi32(rescale.shortcut.zero)),
        flip(rescale.shortcut.flip * UINT64_C(0x0101010101010101)) {}
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    if (columns <= 0) return;
    uint64_t bytes = 0;
    if (columns >= 8)
      __builtin_memcpy(&bytes, shortcut + at, 8);
    else
      for (int64_t j = 0; j < columns; ++j) bytes |= uint64_t{shortcut[at + j]} << 8 * j;
    const __m256 theirs = _mm256_cvtepi32_ps(
                     _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes ^ flip)))),
                 ours =
                     _mm256_round_ps(own.inside(sums, scales), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                 real = _mm256_add_ps(_mm256_mul_ps(ours, factor),
                                      _mm256_add_ps(_mm256_mul_ps(theirs, other), constant)),
                 inside = _mm256_min_ps(_mm256_max_ps(real, low), high);
    storeBytes(_mm256_add_epi32(_mm256_cvtps_epi32(inside), zero), to + at, columns);
  }
};

}  // namespace

#define DYN_LANES 8
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 6
#define DYN_FAMILY byteGemmAvx2
#define DYN_NAME "avx2"
#include "vm/kernels/byte/byte_kernel.inc"
#endif
