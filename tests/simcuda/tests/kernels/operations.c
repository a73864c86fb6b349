// A kernel for each type: all its operations on three operands, each result in 8 bytes of its own:
// y[operation][thread].
#include "tests/simcuda/tests/kernels/operations.h"
#include "tests/simcuda/tests/kernels/gpu.h"

#define STORE(T, e)        \
  *(GLOBAL T*)at = (T)(e); \
  at += 8 * count;
#define KERNEL_OF(name, T, second, LIST)                                                                \
  KERNEL operations_##name(const GLOBAL T* xs, const GLOBAL T* ys, const GLOBAL T* zs, GLOBAL char* to, \
                           long count) {                                                                \
    long i = (long)BLOCK * THREADS + THREAD;                                                            \
    if (i >= count) return;                                                                             \
    T x = xs[i], y = ys[i], z = zs[i];                                                                  \
    GLOBAL char* at = to + 8 * i;                                                                       \
    LIST(STORE, T, second)                                                                              \
  }
OPERATION_TYPES(KERNEL_OF)
