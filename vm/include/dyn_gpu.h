/* dyn_gpu.h: programs that run on a GPU beside the host (made with --device cuda). An addition to dynvm.h:
 * the calls there run such programs, too, on the first device.
 *
 * A device is "cpu" (what a program has for a GPU is done by its code for the host), "cuda", or one of them
 * by its index, "cuda:1". Null: the first GPU; where there is none a package goes on as on "cpu", and the
 * module's metadata "device_notice" says why. The metadata "device" is what was taken, if the program has
 * anything for a GPU at all. */
#ifndef DYN_GPU_H
#define DYN_GPU_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses beside those of dynvm.h. Every message has the driver's name and number of the error.
 *
 *   DYN_UNAVAILABLE    the device is not there, or not any more: lost, or stopped by an earlier fault
 *   DYN_DEVICE_ERROR   its driver refused or failed; the device goes on
 *   DYN_KERNEL_FAULT   a kernel did what it may not (an illegal address, 700; a misaligned one, 716; a failed
 *                      launch, 719): the device has stopped for this process. The place is its operation
 *   DYN_OUT_OF_MEMORY  the device has no more memory, DYN_MEMORY_LIMIT: the context may take no more of it;
 *                      the device goes on
 *
 * After each of them contexts can be released, and programs run on another device, or on "cpu". */
#define DYN_UNAVAILABLE ((dyn_status)15)
#define DYN_DEVICE_ERROR ((dyn_status)16)

/* As the calls of dynvm.h without "_on". */
DYN_API dyn_status dyn_module_load_file_on(const char* path, const dyn_host* host, const char* device,
                                           dyn_module** module);
DYN_API dyn_status dyn_module_load_memory_on(const void* bytes, size_t size_bytes, const dyn_host* host,
                                             const char* device, dyn_module** module);

/* Zero means the default, for every member. */
typedef struct dyn_device_options {
  uint64_t memory_limit_bytes; /* of this context on the device; default: as that on the host */
  int32_t no_graphs;           /* nonzero: launches that come again are not replayed as a graph */
} dyn_device_options;
DYN_API dyn_status dyn_context_create_on(dyn_module* module, const dyn_options* options,
                                         const dyn_device_options* device_options, dyn_context** context);

typedef struct dyn_device_statistics {
  uint64_t peak_bytes;           /* of dyn_statistics.peak_bytes, those of the device */
  uint64_t graph_launches_count; /* graphs that the last run replayed */
} dyn_device_statistics;
DYN_API dyn_status dyn_context_device_statistics(const dyn_context* context,
                                                 dyn_device_statistics* statistics);

/* Why cuBLASLt can not be used here, which products may be done by (policy matmul=cublaslt); null: it can.
 * Looks for it at the first call. */
DYN_API const char* dyn_cublaslt_fault(void);

#ifdef __cplusplus
}
#endif
#endif
