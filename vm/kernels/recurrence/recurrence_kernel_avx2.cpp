// Compiled for AVX2 and FMA; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX2__) && defined(__FMA__)
#define DYN_BYTES 32
#define DYN_CELLS dynCellsAvx2
#include "vm/kernels/recurrence/recurrence_kernel.inc"
#endif
