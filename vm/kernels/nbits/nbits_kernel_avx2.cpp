// Weights of few bits, eight at a time. Compiled for AVX2 and FMA; nothing else may be in this file
// (vm/CMakeLists.txt).
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#include "vm/kernels/nbits/nbits_kernel.h"

#define DYN_LANES 8
#define DYN_KERNELS nbitsAvx2
#define DYN_NAME "avx2"
#define DYN_EXPAND_PANEL nullptr
// Written out: compilers make the conversion of half a vector of bytes one of single numbers.
#define DYN_WIDEN_BYTES(from) _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))
#include "vm/kernels/nbits/nbits_arithmetic.inc"
#include "vm/kernels/nbits/nbits_kernel.inc"
#endif
