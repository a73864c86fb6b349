/* dyn_custom_kernels.h: kernels of the host for programs that call operators of their own. How to write one:
 * abi/dyn_custom_kernel.h.
 *
 *   if (dyn_custom_kernels_load("libacme.so") != DYN_OK) puts(dyn_last_message());
 *
 * Kernels belong to the process and are never removed: programs find them by name when a call runs. A kernel
 * is code of this process: load only libraries that you trust. Threads: any. */
#ifndef DYN_CUSTOM_KERNELS_H
#define DYN_CUSTOM_KERNELS_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DynCustomKernel;
struct DynBuiltinKernel;

/* Adds the kernels that a shared library exports. DYN_IO_ERROR: it cannot be loaded, or exports no kernels.
 * DYN_UNSUPPORTED: they are of another version. DYN_INVALID_ARGUMENT: a name is empty or a function null. */
DYN_API dyn_status dyn_custom_kernels_load(const char* path);
/* Adds kernels of the program itself. `kernels` and their names must live as long as the process. */
DYN_API dyn_status dyn_custom_kernels_add(const struct DynCustomKernel* kernels, int32_t count);
/* Null: no kernel has that name. */
DYN_API const struct DynBuiltinKernel* dyn_custom_kernel_find(const char* name);

#ifdef __cplusplus
}
#endif
#endif
