// 4x16 tiles of bf16 widened to f32. Compiled for AVX2 and FMA; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX2__) && defined(__FMA__)
#include "vm/kernels/gemm/bf16_kernel.h"

#define DYN_LANES 8
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 4
#define DYN_FAMILY bf16FamilyAvx2
#define DYN_NAME "avx2"
#include "vm/kernels/gemm/bf16_arithmetic.inc"
#include "vm/kernels/gemm/bf16_kernel.inc"
#endif
