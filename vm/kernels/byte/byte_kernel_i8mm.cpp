// Dot products of unsigned with signed bytes (usdot, sudot). Compiled for Armv8.2 with i8mm; nothing else may be in this
// file (vm/CMakeLists.txt).
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define DYN_LEFT_MOVED 0
#define DYN_FAMILY byteGemmI8mm
#define DYN_NAME "i8mm"
#include "vm/kernels/byte/byte_kernel_dot.inc"
#endif
