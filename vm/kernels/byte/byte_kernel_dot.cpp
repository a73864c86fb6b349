// 4x16 tiles by dot products of bytes of one kind (sdot). Compiled for Armv8.2 with dot products; nothing
// else may be in this file (vm/CMakeLists.txt).
#if defined(__ARM_FEATURE_DOTPROD)
#define DYN_LEFT_MOVED 128
#define DYN_MAX_ROWS 4
#define DYN_FAMILY byteGemmDot
#define DYN_NAME "dot"
#include "vm/kernels/byte/byte_kernel_dot.inc"
#endif
