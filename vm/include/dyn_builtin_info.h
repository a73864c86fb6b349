/* dyn_builtin_info.h: facts about the runtime's hand-written kernels, for tools.
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
  const char* meaning;    /* the computation, with shapes and types */
  const void* code;       /* the first byte of its function in this process */
  int32_t matrix_kernels; /* 1: its innermost loops are those of the program's DynGemmFamily */
} DynBuiltinInfo;

/* 0: there is no kernel of that name; `info` is unchanged. */
DYN_API int32_t dyn_builtin_info(const char* name, DynBuiltinInfo* info);

#ifdef __cplusplus
}
#endif
#endif
