/* dyn_gpu.h: programs that run on a GPU and its host (compiled with --device cuda). An addition to dynvm.h,
 * whose calls run such programs on the first device.
 *
 * A device name is "cpu" (the host code replaces the kernels for the GPU), "cuda", or a GPU by its index,
 * "cuda:1". Null: the first GPU. On a machine without a GPU a package then runs on "cpu", and the module's
 * metadata "device_notice" gives the reason. The metadata "device" names the chosen device of a program with
 * kernels for a GPU. */
#ifndef DYN_GPU_H
#define DYN_GPU_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Further statuses. Every message has the driver's name and number of the error.
 *
 *   DYN_UNAVAILABLE    there is no such device, or it was lost or stopped by an earlier fault
 *   DYN_DEVICE_ERROR   the driver refused a call or failed; the device still works
 *   DYN_KERNEL_FAULT   a kernel faulted (illegal address, 700; misaligned address, 716; failed launch, 719):
 *                      the device has stopped for this process. The location is the kernel's operation
 *   DYN_OUT_OF_MEMORY  the device has no more memory; it still works
 *   DYN_MEMORY_LIMIT   the context has reached its limit on the device; the device still works
 *
 * After each of them contexts can be released, and programs run on another device or on "cpu". */
#define DYN_UNAVAILABLE ((dyn_status)15)
#define DYN_DEVICE_ERROR ((dyn_status)16)

/* Like the calls of dynvm.h without "_on", for the given device. */
DYN_API dyn_status dyn_module_load_file_on(const char* path, const dyn_host* host, const char* device,
                                           dyn_module** module);
DYN_API dyn_status dyn_module_load_memory_on(const void* bytes, size_t size_bytes, const dyn_host* host,
                                             const char* device, dyn_module** module);

/* Zero means the default, for every member. */
typedef struct dyn_device_options {
  /* Limit of this context on the device; default: the limit on the host. */
  uint64_t memory_limit_bytes;
  /* Nonzero: repeated launches are not replayed as a CUDA graph. */
  int32_t no_graphs;
} dyn_device_options;
DYN_API dyn_status dyn_context_create_on(dyn_module* module, const dyn_options* options,
                                         const dyn_device_options* device_options, dyn_context** context);

typedef struct dyn_device_statistics {
  uint64_t peak_bytes;           /* the device's part of dyn_statistics.peak_bytes */
  uint64_t graph_launches_count; /* graphs that the last run replayed */
} dyn_device_statistics;
DYN_API dyn_status dyn_context_device_statistics(const dyn_context* context,
                                                 dyn_device_statistics* statistics);

/* Why cuBLASLt (policy matmul=cublaslt) cannot be used here; null: it can. The first call loads it. */
DYN_API const char* dyn_cublaslt_fault(void);

#ifdef __cplusplus
}
#endif
#endif
