// 4x8 tiles of bf16 widened to f32, in four-float vectors: any CPU.
#include "vm/kernels/gemm/bf16_kernel.h"

#define DYN_LANES 4
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 4
#define DYN_FAMILY bf16FamilyPortable
#define DYN_NAME "portable"
#include "vm/kernels/gemm/bf16_arithmetic.inc"
#include "vm/kernels/gemm/bf16_kernel.inc"
