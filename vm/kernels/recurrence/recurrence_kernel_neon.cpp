// Vectors of 16 bytes, with fused multiply-add.
#if defined(__aarch64__)
#define DYN_BYTES 16
#define DYN_CELLS dynCellsNeon
#include "vm/kernels/recurrence/recurrence_kernel.inc"
#endif
