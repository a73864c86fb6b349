// Tiles of 12 rows and two vectors of 16 bytes. Products of 64-bit integers go lane by lane: NEON multiplies
// none of them.
#if defined(__aarch64__)
#define DYN_BYTES 16
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 12
#define DYN_ROW_VECTORS 8
#define DYN_FAMILIES numberFamiliesNeon
#include "vm/kernels/gemm/number_kernel.inc"
#endif
