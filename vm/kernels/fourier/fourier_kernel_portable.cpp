// Fourier transforms in vectors of 16 bytes: any CPU.
#define DYN_VECTOR_BYTES 16
#define DYN_FOURIER_FLOAT dynFourierFloatPortable
#define DYN_FOURIER_DOUBLE dynFourierDoublePortable
#include "vm/kernels/fourier/fourier_kernel.inc"
