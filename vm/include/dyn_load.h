/* dyn_load.h: loading packages from whom one does not know.
 *
 * A package is machine code. Who loads one runs what it holds, with the rights of this process; the sums in
 * it find damage, not intent. Take packages from whom you would take a program, or have them signed:
 *
 *   dyn_load_options options = {.verify_key = key};     // 32 bytes, of: dynrepl compile --sign
 *   dyn_module_load_file_with("model.dynpkg", NULL, &options, &module);
 *
 * or take no code of them at all (no_native_code). */
#ifndef DYN_LOAD_H
#define DYN_LOAD_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default, for every member. */
typedef struct dyn_load_options {
  const char* device; /* as in dyn_gpu.h; null: the device that the package was made for, or this host */
  /* Nonzero: bytecode and weights alone are taken; the package's machine code is not looked at. Functions run
   * as bytecode, which is verified when it is loaded. Kernels that the package has as machine code alone must
   * come from the host (dyn_host.resolve_kernel), else DYN_UNSUPPORTED. */
  int32_t no_native_code;
  /* 32 bytes, the public key of Ed25519, read during the call. Given: all of the package must be as it was
   * signed by that key, else DYN_BAD_PROGRAM; checked before anything of it is used, by libsodium, without
   * which it is DYN_UNSUPPORTED. The whole file is read. */
  const uint8_t* verify_key;
} dyn_load_options;

/* dyn_module_load_file with options; null: none. */
DYN_API dyn_status dyn_module_load_file_with(const char* path, const dyn_host* host,
                                             const dyn_load_options* options, dyn_module** module);

#ifdef __cplusplus
}
#endif

#endif
