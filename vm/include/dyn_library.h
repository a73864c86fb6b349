/* dyn_library.h: kernels from other libraries. A host passes them to modules as builtins
 * (dyn_host.resolve_builtin). Each library is a target of its own; the runtime depends on none. */
#ifndef DYN_LIBRARY_H
#define DYN_LIBRARY_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* oneDNN (target dyn_onednn): onednn_gemm_pack, onednn_gemm, onednn_conv_pack, onednn_conv; null for other
 * names. `user` is ignored. */
const dyn_builtin* dyn_onednn_builtin(void* user, const char* name);
/* Loads the library. Null: it is available; otherwise the reason, valid as long as the process lives.
 * Thread-safe. */
const char* dyn_onednn_fault(void);

#ifdef __cplusplus
}
#endif
#endif
