// c[m,n] = a[m,k] x b[k,n] for any sizes: tiles of 16 x 16 in shared memory, two barriers a step.
#include "tests/simcuda/tests/kernels/gpu.h"

static SHARED float tileA[16][16];
static SHARED float tileB[16][16];

KERNEL matmul(gconst* a, gconst* b, gfloat* c, int m, int n, int k) {
  int x = THREAD, y = __nvvm_read_ptx_sreg_tid_y();
  int row = BLOCK_Y * 16 + y, column = BLOCK * 16 + x;
  float sum = 0;
  for (int step = 0; step < k; step += 16) {
    tileA[y][x] = row < m && step + x < k ? a[(long)row * k + step + x] : 0;
    tileB[y][x] = column < n && step + y < k ? b[(long)(step + y) * n + column] : 0;
    BARRIER();
    for (int i = 0; i < 16; i++) sum += tileA[y][i] * tileB[i][x];
    BARRIER();
  }
  if (row < m && column < n) c[(long)row * n + column] = sum;
}
