// 4x8 tiles of four-float vectors: any CPU.
#define DYN_LANES 4
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 4
#define DYN_FAMILY dynGemmFamilyPortable
#define DYN_CONVOLUTION dynConvolutionPortable
#define DYN_POOL dynPoolPortable
#define DYN_RESIZE dynResizePortable
#define DYN_WINOGRAD dynWinogradPortable
#include "vm/kernels/micro_kernel.inc"
#include "vm/kernels/pool_kernel.inc"
#include "vm/kernels/resize_kernel.inc"
#include "vm/kernels/winograd_kernel.inc"
