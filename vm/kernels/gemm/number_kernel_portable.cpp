// Tiles of 4 rows and two vectors of 16 bytes: any CPU.
#define DYN_BYTES 16
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 4
#define DYN_ROW_VECTORS 4
#define DYN_FAMILIES numberFamiliesPortable
#include "vm/kernels/gemm/number_kernel.inc"
