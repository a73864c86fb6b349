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

}  // namespace

#define DYN_LANES 8
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 6
#define DYN_FAMILY byteGemmAvx2
#define DYN_NAME "avx2"
#include "vm/kernels/byte/byte_kernel.inc"
#endif
