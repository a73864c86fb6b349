// c[16,8] = a[16,k] x b[8,k]^T in bfloat16 with sums in float, one warp; k is a multiple of 16. Two buffers
// are filled by cp.async in turn.
#include "tests/simcuda/tests/kernels/gpu.h"

static SHARED __attribute__((aligned(16))) u16 sharedA[2][16][16];
static SHARED __attribute__((aligned(16))) u16 sharedB[2][8][16];

typedef const GLOBAL u16 g16;

static void load(g16* a, g16* b, int k, int step, int buffer, int lane) {
  // 16 rows of two 16-byte pieces of a, 8 rows of b.
  __nvvm_cp_async_cg_shared_global_16((SHARED void*)&sharedA[buffer][lane >> 1][(lane & 1) * 8],
                                      (const GLOBAL void*)&a[(lane >> 1) * k + step + (lane & 1) * 8]);
  if (lane < 16)
    __nvvm_cp_async_cg_shared_global_16((SHARED void*)&sharedB[buffer][lane >> 1][(lane & 1) * 8],
                                        (const GLOBAL void*)&b[(lane >> 1) * k + step + (lane & 1) * 8]);
  __nvvm_cp_async_commit_group();
}

KERNEL mma(g16* a, g16* b, gfloat* c, int k) {
  int lane = THREAD, group = lane >> 2, quad = lane & 3;
  float sum[4] = {0, 0, 0, 0};
  load(a, b, k, 0, 0, lane);
  for (int step = 0; step < k; step += 16) {
    int buffer = (step >> 4) & 1;
    if (step + 16 < k) {
      load(a, b, k, step + 16, buffer ^ 1, lane);
      __nvvm_cp_async_wait_group(1);
    } else {
      __nvvm_cp_async_wait_group(0);
    }
    WARP_BARRIER();
    u32 fa[4], fb[2];
    u32 atA = (u32)(u64)(SHARED void*)&sharedA[buffer][lane & 15][(lane >> 4) * 8];
    u32 atB = (u32)(u64)(SHARED void*)&sharedB[buffer][lane & 7][((lane >> 3) & 1) * 8];
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                     : "r"(atA)
                     : "memory");
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(atB)
                     : "memory");
    __asm__ volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n"
        "{%0, %1, %2, %3}, {%4, %5, %6, %7},\n{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    WARP_BARRIER();
  }
  c[group * 8 + 2 * quad] = sum[0];
  c[group * 8 + 2 * quad + 1] = sum[1];
  c[(group + 8) * 8 + 2 * quad] = sum[2];
  c[(group + 8) * 8 + 2 * quad + 1] = sum[3];
}
