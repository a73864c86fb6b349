// 6x16 tiles: 12 of 16 ymm registers hold sums. Compiled for AVX2 and FMA; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX2__) && defined(__FMA__)
#define DYN_LANES 8
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 6
#define DYN_FAMILY dynGemmFamilyAvx2
#define DYN_CONVOLUTION dynConvolutionAvx2
#define DYN_POOL dynPoolAvx2
#define DYN_RESIZE dynResizeAvx2
#define DYN_WINOGRAD dynWinogradAvx2
#include "vm/kernels/cpu/micro_kernel.inc"

// Those below use what it defines.
#include "vm/kernels/conv/winograd_kernel.inc"
#include "vm/kernels/image/pool_kernel.inc"
#include "vm/kernels/image/resize_kernel.inc"
#endif
