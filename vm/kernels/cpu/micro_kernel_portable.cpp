// 4x8 tiles of four-float vectors: any CPU.
#define DYN_LANES 4
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 4
#define DYN_REGISTERS 16
#define DYN_FAMILY dynGemmFamilyPortable
#define DYN_CONVOLUTION dynConvolutionPortable
#define DYN_POOL dynPoolPortable
#define DYN_RESIZE dynResizePortable
#define DYN_WINOGRAD dynWinogradPortable
#define DYN_HALVES dynHalvesPortable
#include "vm/kernels/cpu/micro_kernel.inc"

// Those below use what it defines.
#include "vm/kernels/conv/winograd_kernel.inc"
#include "vm/kernels/gemm/half_kernel.inc"
#include "vm/kernels/image/pool_kernel.inc"
#include "vm/kernels/image/resize_kernel.inc"
