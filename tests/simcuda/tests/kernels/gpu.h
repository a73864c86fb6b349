// gpu.h — what the test kernels use of the chip, for clang --target=nvptx64-nvidia-cuda; no CUDA header is
// needed.
#pragma once
#define KERNEL __attribute__((nvptx_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define THREADS __nvvm_read_ptx_sreg_ntid_x()
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_Y __nvvm_read_ptx_sreg_ctaid_y()
#define BLOCKS __nvvm_read_ptx_sreg_nctaid_x()
#define BARRIER() __nvvm_bar_sync(0)
#define WARP_BARRIER() __nvvm_bar_warp_sync(-1)

typedef GLOBAL float gfloat;
typedef const GLOBAL float gconst;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
