// Kernels with one fault each, and sound ones that look alike. A launch is one block of 64 threads where
// nothing else is said.
#include "tests/simcuda/tests/kernels/gpu.h"

static SHARED float words[64];
typedef GLOBAL int gint;
typedef struct {
  float x, y, z, w;
} __attribute__((aligned(16))) Four;

// Half of the threads never come to the barrier; the others need what they would have written.
KERNEL barrier_for_some(gfloat* out, int n) {
  int t = THREAD;
  words[t] = t;
  if (t < n) BARRIER();
  out[t] = words[63 - t];
}

KERNEL return_before_barrier(gfloat* out, int n) {
  int t = THREAD;
  if (t >= n) return;
  words[t] = t;
  BARRIER();
  out[t] = words[n - 1 - t];
}

KERNEL shuffle_for_some(gfloat* out, int n) {
  int t = THREAD;
  float v = t;
  if (t < n) v = __nvvm_shfl_sync_bfly_f32(-1, v, 1, 31);
  out[t] = v;
}

// The old style: below a warp's width no barriers.
KERNEL tree_without_barriers(gfloat* out, int n) {
  int t = THREAD;
  volatile SHARED float* w = words;
  words[t] = t * n;
  BARRIER();
  SHARED float* plain = words;
  for (int d = 32; d > 0; d >>= 1) {
    if (t < d) plain[t] += plain[t + d];
    if (d > 16) BARRIER();
  }
  if (t == 0) out[0] = w[0];
}

KERNEL tree_with_barriers(gfloat* out, int n) {
  int t = THREAD;
  words[t] = t * n;
  BARRIER();
  for (int d = 32; d > 0; d >>= 1) {
    if (t < d) words[t] += words[t + d];
    BARRIER();
  }
  if (t == 0) out[0] = words[0];
}

// Launched with two blocks: both write the same.
KERNEL blocks_write_the_same(gfloat* out, int n) { out[THREAD] = n; }

KERNEL lane_to_warp(gfloat* out, int n) {
  int t = THREAD;
  if ((t & 31) == 0) words[t] = n;
  out[t] = words[t & 32];
}

KERNEL lane_to_warp_ordered(gfloat* out, int n) {
  int t = THREAD;
  if ((t & 31) == 0) words[t] = n;
  WARP_BARRIER();
  out[t] = words[t & 32];
}

// Warp 1 writes what warp 0 read since the last barrier.
KERNEL warp_overwrites(gfloat* out, int n) {
  int t = THREAD;
  words[t] = t;
  BARRIER();
  float v = words[t & 31];
  if (t >= 32) words[t - 32] = n;
  out[t] = v;
}

KERNEL past_the_tile(gfloat* out, int n) {
  int t = THREAD;
  words[t + n] = t;
  BARRIER();
  out[t] = words[63 - t];
}

KERNEL tail_guard(gfloat* out, int n) {
  int t = THREAD;
  if (t <= n) out[t] = t;
}

KERNEL global_as_shared(gfloat* out, int n) {
  SHARED float* w = (SHARED float*)(u64)out;
  out[THREAD] = w[n];
}

KERNEL misaligned(gfloat* out, int n) {
  GLOBAL Four* p = (GLOBAL Four*)(out + n);
  p->x = p->y = p->z = p->w = 1;
}

// Reads what this launch never wrote.
KERNEL reads_output(gfloat* out, int n) { out[THREAD] = out[THREAD] + n; }

KERNEL sum_by_atomics(gint* out, int n) { __nvvm_atom_add_gen_i((int*)out, (int)THREAD + n); }

// An array that the compiler keeps in local memory: an index of it is the thread's.
KERNEL local_array(gfloat* out, int n) {
  float a[16];
  int t = THREAD;
  for (int i = 0; i < 16; i++) a[i] = (float)(i * t);
  out[t] = a[(t + n) & 15];
}

// Bytes side by side are no race.
KERNEL bytes_side_by_side(GLOBAL unsigned char* out, int n) { out[THREAD] = (unsigned char)(THREAD + n); }

// Lanes take as many steps as their number says.
KERNEL divergent_loops(gint* out, int n) {
  int t = THREAD, sum = 0;
  for (int i = 0; i < t; i++) sum += i % 3 == 0 ? n : i;
  sum += __nvvm_shfl_sync_bfly_i32(-1, sum, 1, 31);
  out[t] = sum;
}
