/* Libraries of others as a source of kernels: builtins that a host may give to modules
 * (dyn_host.resolve_builtin). Each library is one target of its own beside the runtime, which is free of them
 * all. */
#ifndef DYN_LIBRARY_H
#define DYN_LIBRARY_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* oneDNN (target dyn_onednn): onednn_gemm_pack, onednn_gemm, onednn_conv_pack, onednn_conv; null for other
 * names. `user` is not looked at. */
const dyn_builtin* dyn_onednn_builtin(void* user, const char* name);
/* Opens the library. Null: it is there; else why not. Valid as long as the process lives. Thread-safe. */
const char* dyn_onednn_fault(void);

#ifdef __cplusplus
}
#endif
#endif
