// Tiles of 6 rows and two vectors of 32 bytes. Compiled for AVX2 and FMA; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX2__) && defined(__FMA__)
#define DYN_BYTES 32
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 6
#define DYN_ROW_VECTORS 4
#define DYN_FAMILIES numberFamiliesAvx2
#include "vm/kernels/gemm/number_kernel.inc"
#endif
