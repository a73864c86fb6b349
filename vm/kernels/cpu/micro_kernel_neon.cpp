// 8x8 tiles: of the 32 registers of 128 bits 16 hold sums and 8 what four steps read of A. Armv8.0 has all
// that it needs.
#if defined(__aarch64__)
#include <arm_neon.h>

#define DYN_LANES 4
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 8
#define DYN_REGISTERS 32
#define DYN_BY_ELEMENT 1
#define DYN_FAMILY dynGemmFamilyNeon
#define DYN_CONVOLUTION dynConvolutionNeon
#define DYN_POOL dynPoolNeon
#define DYN_RESIZE dynResizeNeon
#define DYN_WINOGRAD dynWinogradNeon
#define DYN_HALVES dynHalvesNeon
#define DYN_WIDEN(from) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)))
#include "vm/kernels/cpu/micro_kernel.inc"

// Those below use what it defines.
#include "vm/kernels/conv/winograd_kernel.inc"
#include "vm/kernels/gemm/half_kernel.inc"
#include "vm/kernels/image/pool_kernel.inc"
#include "vm/kernels/image/resize_kernel.inc"
#endif
