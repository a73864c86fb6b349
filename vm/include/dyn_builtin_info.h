/* What the runtime tells of its hand-written kernels, for tools that show what a program runs.
 *
 *   DynBuiltinInfo info;
 *   if (dyn_builtin_info("gemm", &info)) puts(info.meaning);
 *
 * Threads: any. Everything lives as long as the runtime. */
#ifndef DYN_BUILTIN_INFO_H
#define DYN_BUILTIN_INFO_H

#include <stdint.h>

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DynBuiltinInfo {
  const char* meaning;    /* what it computes of what, with shapes and types */
  const void* code;       /* the first byte of its function in this process */
  int32_t matrix_kernels; /* 1: its innermost loops are those of the program's DynGemmFamily */
} DynBuiltinInfo;

/* 0: there is no kernel of that name, and `info` is left as it is. */
DYN_API int32_t dyn_builtin_info(const char* name, DynBuiltinInfo* info);

#ifdef __cplusplus
}
#endif
#endif
