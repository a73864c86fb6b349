// 8x8 tiles of bf16 widened to f32: 16 of the 32 registers of 128 bits hold sums.
#if defined(__aarch64__)
#include "vm/kernels/gemm/bf16_kernel.h"

#define DYN_LANES 4
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 8
#define DYN_FAMILY bf16FamilyNeon
#define DYN_NAME "neon"
#include "vm/kernels/gemm/bf16_arithmetic.inc"
#include "vm/kernels/gemm/bf16_kernel.inc"
#endif
