// Compiled for AVX-512F; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX512F__)
#define DYN_BYTES 64
#define DYN_CELLS dynCellsAvx512
#include "vm/kernels/recurrence/recurrence_kernel.inc"
#endif
