// Fourier transforms in vectors of 16 bytes, with fused multiply-add.
#if defined(__aarch64__)
#define DYN_VECTOR_BYTES 16
#define DYN_FOURIER_FLOAT dynFourierFloatNeon
#define DYN_FOURIER_DOUBLE dynFourierDoubleNeon
#include "vm/kernels/fourier/fourier_kernel.inc"
#endif
