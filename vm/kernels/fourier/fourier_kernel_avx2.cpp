// Fourier transforms in vectors of 32 bytes. Compiled for AVX2 and FMA; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX2__) && defined(__FMA__)
#define DYN_VECTOR_BYTES 32
#define DYN_FOURIER_FLOAT dynFourierFloatAvx2
#define DYN_FOURIER_DOUBLE dynFourierDoubleAvx2
#include "vm/kernels/fourier/fourier_kernel.inc"
#endif
