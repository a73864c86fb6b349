/* dyn_custom_kernel.h: operators of your own, in C. A shared library that exports dyn_custom_kernels() is
 * loaded by `dynrepl --ops FILE` or dyn_custom_kernels_load() (dyn_custom_kernels.h); it links with nothing
 * of Dyn.
 *
 *   static int32_t swish(const DynBuiltinCall* call) {
 *     const DynTensorView* x = &call->arguments[0];
 *     if (x->dtype != DYN_F32) return dyn_custom_fault(call, DYN_BAD_INPUT, "x must be f32");
 *     ...
 *     return DYN_OK;
 *   }
 *   DYN_CUSTOM_KERNELS({"acme_swish", {NULL, swish}})
 *
 * The operator custom_call of a text module calls it: custom_call(x, beta, shape(x), kernel = "acme_swish").
 *
 * Arguments are the operands of custom_call in their order. One that is left out has the dtype DYN_NO_TENSOR.
 * All are dense and row-major, at any address that is aligned to their elements. Results have the shapes and
 * dtypes that custom_call states; every element must be written. Strings are arguments only.
 * A kernel is a function of its arguments: calls may be left out, made twice, made at compile time, and made
 * from several threads at once. It must not keep pointers. `numbers`, `scalars`, `gemmFamily` are empty. */
#ifndef DYN_CUSTOM_KERNEL_H
#define DYN_CUSTOM_KERNEL_H

#include "../dynvm.h"
#include "dyn_builtin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DYN_CUSTOM_KERNELS_VERSION 1

typedef struct DynCustomKernel {
  const char* name;        /* of the whole process; a later kernel of the same name takes its place */
  DynBuiltinKernel kernel; /* scratchBytes may be null */
} DynCustomKernel;

typedef struct DynCustomKernels {
  int32_t version; /* DYN_CUSTOM_KERNELS_VERSION */
  int32_t count;
  const DynCustomKernel* kernels; /* live as long as the process */
} DynCustomKernels;

/* The function that a library of kernels exports. */
typedef const DynCustomKernels* (*DynCustomKernelsFunction)(void);
#define DYN_CUSTOM_KERNELS_SYMBOL "dyn_custom_kernels"

#if defined(_WIN32)
#define DYN_CUSTOM_KERNELS_EXPORT __declspec(dllexport)
#else
#define DYN_CUSTOM_KERNELS_EXPORT __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
#define DYN_CUSTOM_KERNELS_LINKAGE extern "C"
#else
#define DYN_CUSTOM_KERNELS_LINKAGE
#endif

/* Defines that function: one {name, {scratchBytes, run}} for each kernel. */
#define DYN_CUSTOM_KERNELS(...)                                                                           \
  DYN_CUSTOM_KERNELS_LINKAGE DYN_CUSTOM_KERNELS_EXPORT const DynCustomKernels* dyn_custom_kernels(void);  \
  DYN_CUSTOM_KERNELS_LINKAGE DYN_CUSTOM_KERNELS_EXPORT const DynCustomKernels* dyn_custom_kernels(void) { \
    static const DynCustomKernel kernels[] = {__VA_ARGS__};                                               \
    static const DynCustomKernels all = {DYN_CUSTOM_KERNELS_VERSION,                                      \
                                         (int32_t)(sizeof kernels / sizeof kernels[0]), kernels};         \
    return &all;                                                                                          \
  }

/* Sets the text of the error and returns its status: return dyn_custom_fault(call, DYN_BAD_INPUT, "..."); */
static inline int32_t dyn_custom_fault(const DynBuiltinCall* call, int32_t status, const char* text) {
  call->context->fault(call->context, text);
  return status;
}

#ifdef __cplusplus
}
#endif
#endif
