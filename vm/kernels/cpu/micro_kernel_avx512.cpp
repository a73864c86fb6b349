// 12x32 tiles: 24 of 32 zmm registers hold sums. Compiled for AVX-512F; nothing else may be in this file
// (vm/CMakeLists.txt).
#if defined(__AVX512F__)
#include <immintrin.h>

#define DYN_LANES 16
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 12
#define DYN_REGISTERS 32
#define DYN_FAMILY dynGemmFamilyAvx512
#define DYN_CONVOLUTION dynConvolutionAvx512
#define DYN_POOL dynPoolAvx512
#define DYN_RESIZE dynResizeAvx512
#define DYN_WINOGRAD dynWinogradAvx512
#define DYN_HALVES dynHalvesAvx512
// With a mask, as GCC 12 warns of the plain form (its bug 105593).
#define DYN_WIDEN(from) \
  _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from)))
// One instruction: GCC 12 widens a vector of this length in two parts.
#define DYN_WORDS(from) \
  _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from)))
#include "vm/kernels/cpu/micro_kernel.inc"

// Those below use what it defines.
#include "vm/kernels/conv/winograd_kernel.inc"
#include "vm/kernels/gemm/half_kernel.inc"
#include "vm/kernels/image/pool_kernel.inc"
#include "vm/kernels/image/resize_kernel.inc"
#endif
