// 12x32 tiles, four products a lane and instruction. Compiled for AVX-512 with VNNI; nothing else may be in
// this file (vm/CMakeLists.txt).
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
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

// One word of four taps for 16 outputs, whose inputs overlap: each 128 bits hold what four of them need, and
// are then spread over their words.
template <bool kTwo>
inline __attribute__((always_inline)) Sums addWords(Sums sums, const uint8_t* from, uint32_t word) {
  const __m512i bytes = _mm512_loadu_si512(from);
  if constexpr (kTwo) {
    const __m512i pairs = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 1, 1, 2, 2, 3, 3, 4), bytes);
    const __m512i spread = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9));
    return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                      _mm512_shuffle_epi8(pairs, spread),
                                                      _mm512_set1_epi32(static_cast<int>(word))));
  } else {
    const __m512i words = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4), bytes);
    const __m512i spread = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
    return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                      _mm512_shuffle_epi8(words, spread),
                                                      _mm512_set1_epi32(static_cast<int>(word))));
  }
}

template <bool kTwo>
inline __attribute__((always_inline)) void wordRow(const dyn::vm::kernels::ByteWindow& w, int32_t* sums,
                                                   int64_t count) {
  const int64_t perRow = (w.width + 3) / 4;
  for (int64_t i = 0; i < count; i += 16) {
    Sums sum = Sums{} + static_cast<uint32_t>(w.first);
    const uint32_t* words = w.words;
    for (int64_t r = 0; r < w.rowCount; ++r)
      for (int64_t t = 0; t < perRow; ++t)
        sum = addWords<kTwo>(sum, w.rows[r] + i * (kTwo ? 2 : 1) + 4 * t, *words++);
    const int64_t rest = count - i;
    const __mmask16 used = rest >= 16 ? 0xffff : static_cast<__mmask16>((1u << rest) - 1);
    _mm512_mask_storeu_epi32(sums + i, used, reinterpret_cast<__m512i>(sum));
  }
}

bool wordWindow(const dyn::vm::kernels::ByteWindow& w, int32_t* sums, int64_t count) {
  if (!w.words || w.dilation != 1 || w.stride > 2) return false;
  if (w.stride == 1)
    wordRow<false>(w, sums, count);
  else
    wordRow<true>(w, sums, count);
  return true;
}

}  // namespace

#define DYN_WORD_WINDOWS
#define DYN_LANES 16
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 12
#define DYN_FAMILY byteGemmVnni
#define DYN_NAME "avx512-vnni"
#include "vm/kernels/byte/byte_kernel.inc"
#endif
