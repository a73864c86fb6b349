// Weights of few bits in four-float vectors: any CPU.
#include "vm/kernels/nbits/nbits_kernel.h"

#define DYN_LANES 4
#define DYN_KERNELS nbitsPortable
#define DYN_NAME "portable"
#define DYN_EXPAND_PANEL nullptr
#include "vm/kernels/nbits/nbits_arithmetic.inc"
#include "vm/kernels/nbits/nbits_kernel.inc"
