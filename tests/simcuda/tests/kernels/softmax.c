// Softmax over rows of any length, a block a row: lanes by shuffles, warps by shared memory.
#include "tests/simcuda/tests/kernels/gpu.h"

static SHARED float partial[32];

static float lanesMax(float v) {
  for (int d = 16; d; d >>= 1) {
    float other = __nvvm_shfl_sync_bfly_f32(-1, v, d, 31);
    v = v > other ? v : other;
  }
  return v;
}

static float lanesSum(float v) {
  for (int d = 16; d; d >>= 1) v += __nvvm_shfl_sync_bfly_f32(-1, v, d, 31);
  return v;
}

// e^x by 2^i * p(f): what a compiler for both processors writes, no approximate instruction.
static float power(float x) {
  float t = x * 1.44269504f, i = __builtin_rintf(t), f = t - i;
  float p = 1.5403530e-4f;
  p = __builtin_fmaf(p, f, 1.3333558e-3f);
  p = __builtin_fmaf(p, f, 9.6181291e-3f);
  p = __builtin_fmaf(p, f, 5.5504109e-2f);
  p = __builtin_fmaf(p, f, 2.4022651e-1f);
  p = __builtin_fmaf(p, f, 6.9314718e-1f);
  p = __builtin_fmaf(p, f, 1.0f);
  union {
    int bits;
    float value;
  } scale = {.bits = ((int)i + 127) << 23};
  return i < -126 ? 0 : p * scale.value;
}

KERNEL softmax(gconst* in, gfloat* out, int n) {
  gconst* x = in + (long)BLOCK * n;
  gfloat* y = out + (long)BLOCK * n;
  int thread = THREAD, lane = thread & 31, warp = thread >> 5, warps = THREADS >> 5;
  float top = -3.0e38f;
  for (int i = thread; i < n; i += THREADS) top = top > x[i] ? top : x[i];
  top = lanesMax(top);
  if (lane == 0) partial[warp] = top;
  BARRIER();
  top = lanesMax(lane < warps ? partial[lane] : -3.0e38f);
  BARRIER();
  float sum = 0;
  for (int i = thread; i < n; i += THREADS) {
    float e = power(x[i] - top);
    y[i] = e;
    sum += e;
  }
  sum = lanesSum(sum);
  if (lane == 0) partial[warp] = sum;
  BARRIER();
  sum = lanesSum(lane < warps ? partial[lane] : 0);
  for (int i = thread; i < n; i += THREADS) y[i] = y[i] / sum;
}
