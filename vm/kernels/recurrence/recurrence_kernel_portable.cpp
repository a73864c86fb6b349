// Vectors of 16 bytes: any CPU.
#define DYN_BYTES 16
#define DYN_CELLS dynCellsPortable
#include "vm/kernels/recurrence/recurrence_kernel.inc"
