// y[i] = max(a[i] * b[i] + c, 0) for n elements: a loop over the grid, so any launch is right; n needs no
// multiple of anything.
#include "tests/simcuda/tests/kernels/gpu.h"

KERNEL elementwise(gconst* a, gconst* b, gfloat* y, long n, float c) {
  for (long i = (long)BLOCK * THREADS + THREAD; i < n; i += (long)THREADS * BLOCKS) {
    float v = a[i] * b[i] + c;
    y[i] = v > 0 ? v : 0;
  }
}
