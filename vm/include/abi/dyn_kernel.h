/* The kernel ABI: what compiled code and the VM agree on. C, no C++ types. */
#ifndef DYN_KERNEL_H
#define DYN_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A generated kernel computes the units [begin, end) of its parallel extent; the VM splits the extent over
 * threads, and any split gives the same bits.
 *   buffers  data pointers in the order of the kernel's row: inputs, then outputs; never null for a non-empty tensor
 *   scalars  dims and scalar values in the order of the kernel's row
 *   scratch  scratchBytes of this call, 64-byte aligned, private to the calling thread (null when scratchBytes is 0)
 * Returns 0, or a fault (see DynKernelFault), which the VM turns into an error naming the operation. */
typedef int32_t (*DynKernelFunction)(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end,
                                     void* scratch);

/* A fault is 32 bits: one of these in bits 0 to 2; in bits 3 to 7 which of the kernel's checks failed, from
 * 1, 0 where that is not known; in bits 8 to 31 the number that was checked, signed and saturated
 * (DYN_FAULT_MOST), DYN_FAULT_NO_VALUE where there is none. What the checks demand stands with the place of
 * the launch. */
enum DynKernelFault {
  DYN_KERNEL_OK = 0,
  DYN_KERNEL_INDEX_OUT_OF_RANGE = 1,
  DYN_KERNEL_DIVISION_BY_ZERO = 2,
  DYN_KERNEL_BAD_VALUE = 3
};
#define DYN_FAULT_CODE(fault) ((fault)&7)
#define DYN_FAULT_CHECK(fault) (((fault) >> 3) & 31)
#define DYN_FAULT_VALUE(fault) ((fault) >> 8)
#define DYN_FAULT_MOST ((1 << 23) - 1) /* of the value; the least is -DYN_FAULT_MOST */
#define DYN_FAULT_NO_VALUE (-(1 << 23))
#define DYN_FAULT_CHECKS 31 /* that can be told apart */

/* A GEMM micro-kernel: C[rows, columns] (+)= A[rows, depth] * B, rows = 1..maxRows of its family.
 *   a        row-major, leadingA elements from row to row
 *   b        one packed panel [depth][panelWidth]
 *   c        row-major, leadingC elements from row to row; only the first `columns` (1..panelWidth) are written
 *   accumulate  0: C is overwritten; 1: added to
 * One function per row count, so a family is an array of maxRows pointers: family[rows - 1]. */
typedef void (*DynGemmMicroKernel)(int64_t depth, const float* a, int64_t leadingA, const float* b, float* c,
                                   int64_t leadingC, int64_t columns, int32_t accumulate);

typedef struct DynGemmFamily {
  int32_t maxRows;
  int32_t panelWidth;                     /* a multiple of 8 */
  const DynGemmMicroKernel* microKernels; /* maxRows entries */
} DynGemmFamily;

/* The name of the family among the objects of a package that brings its own. */
#define DYN_GEMM_FAMILY_SYMBOL "dyn_gemm_family"

#ifdef __cplusplus
}
#endif
#endif
