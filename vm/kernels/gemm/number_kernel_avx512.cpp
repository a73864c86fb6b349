// Tiles of 12 rows and two vectors of 64 bytes. Compiled for AVX-512F; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX512F__)
#define DYN_BYTES 64
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 12
#define DYN_ROW_VECTORS 8
#define DYN_FAMILIES numberFamiliesAvx512
#include "vm/kernels/gemm/number_kernel.inc"
#endif
