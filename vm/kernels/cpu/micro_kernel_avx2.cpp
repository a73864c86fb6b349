// 6x16 tiles: 12 of 16 ymm registers hold sums. Compiled for AVX2, FMA and F16C; nothing else may
// be in this file (vm/CMakeLists.txt).
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>

#define DYN_LANES 8
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 6
#define DYN_REGISTERS 16
#define DYN_FAMILY dynGemmFamilyAvx2
#define DYN_CONVOLUTION dynConvolutionAvx2
#define DYN_POOL dynPoolAvx2
#define DYN_RESIZE dynResizeAvx2
#define DYN_WINOGRAD dynWinogradAvx2
#define DYN_HALVES dynHalvesAvx2
#define DYN_WIDEN(from) _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from)))
#include "vm/kernels/cpu/micro_kernel.inc"

// Those below use what it defines.
#include "vm/kernels/conv/winograd_kernel.inc"
#include "vm/kernels/gemm/half_kernel.inc"
#include "vm/kernels/image/pool_kernel.inc"
#include "vm/kernels/image/resize_kernel.inc"
#endif
