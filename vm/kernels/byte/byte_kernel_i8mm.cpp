// 6x16 tiles by products of matrices of unsigned with signed bytes (usmmla), and by dot products (usdot).
// Compiled for Armv8.2 with i8mm; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define DYN_LEFT_MOVED 0
#define DYN_ROW_PAIRS
#define DYN_MAX_ROWS 6
#define DYN_FAMILY byteGemmI8mm
#define DYN_NAME "i8mm"
#include "vm/kernels/byte/byte_kernel_dot.inc"
#endif
