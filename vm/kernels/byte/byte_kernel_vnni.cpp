// 12x32 tiles, four products a lane and instruction. Compiled for AVX-512 with VNNI; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "vm/kernels/byte/byte_kernel.h"

namespace {

typedef uint32_t Sums __attribute__((vector_size(64), aligned(4), may_alias));
using Words = __m512i;
constexpr int kGroup = 4;

inline Words everyLane(uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
inline Words lanes(const int8_t* from) { return _mm512_loadu_si512(from); }
// The form that does not saturate: four products of u8 and i8 fit in i32 with room to spare.
inline Sums multiplyAdd(Sums sums, Words a, Words b) {
  return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), a, b));
}

}  // namespace

#define DYN_LANES 16
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 12
#define DYN_FAMILY byteGemmVnni
#define DYN_NAME "avx512-vnni"
#include "vm/kernels/byte/byte_kernel.inc"
#endif
