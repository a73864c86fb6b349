// Fourier transforms in vectors of 64 bytes. Compiled for AVX-512; nothing else may be in this file (vm/CMakeLists.txt).
#if defined(__AVX512F__)
#define DYN_VECTOR_BYTES 64
#define DYN_FOURIER_FLOAT dynFourierFloatAvx512
#define DYN_FOURIER_DOUBLE dynFourierDoubleAvx512
#include "vm/kernels/fourier/fourier_kernel.inc"
#endif
