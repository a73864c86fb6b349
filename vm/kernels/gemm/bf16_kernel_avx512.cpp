// 12x32 tiles, two products a lane and instruction. Compiled for AVX-512 with BF16; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX512BF16__)
#include <immintrin.h>

#include "vm/kernels/gemm/bf16_kernel.h"

namespace {

typedef float Sums __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(64), aligned(4), may_alias));

inline Sums multiplyAdd(Sums sums, uint32_t left, Words right) {
  const __m512i every = _mm512_set1_epi32(static_cast<int>(left));
  return reinterpret_cast<Sums>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(sums), reinterpret_cast<__m512bh>(every), reinterpret_cast<__m512bh>(right)));
}

void roundWords(const float* from, int64_t depth, uint32_t* to) {
  int64_t k = 0;
  for (; k + 32 <= depth; k += 32)
    _mm512_storeu_si512(to + k / 2, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(
                                        _mm512_loadu_ps(from + k + 16), _mm512_loadu_ps(from + k))));
  if (k == depth) return;
  const auto rest = static_cast<uint32_t>((uint64_t{1} << (depth - k)) - 1);
  const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(rest), from + k),
               high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(rest >> 16), from + k + 16);
  const auto words = static_cast<__mmask16>((uint32_t{1} << ((depth - k + 1) / 2)) - 1);
  _mm512_mask_storeu_epi32(to + k / 2, words, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
}

}  // namespace

#define DYN_LANES 16
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 12
#define DYN_FAMILY bf16FamilyAvx512
#define DYN_NAME "avx512-bf16"
#include "vm/kernels/gemm/bf16_kernel.inc"
#endif
