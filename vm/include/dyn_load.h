/* dyn_load.h: loading packages of unknown origin.
 *
 * A package is machine code. Loading one runs it with the rights of this process; its checksums find damage,
 * not intent. Load packages only from a source whose programs you would run, or have them signed:
 *
 *   dyn_load_options options = {.verify_key = key};     // 32 bytes, of: dynrepl compile --sign
 *   dyn_module_load_file_with("model.dynpkg", NULL, &options, &module);
 *
 * or load no machine code of them at all (no_native_code). */
#ifndef DYN_LOAD_H
#define DYN_LOAD_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default, for every member. */
typedef struct dyn_load_options {
  /* As in dyn_gpu.h. Null: the device that the package was compiled for, or this host. */
  const char* device;
  /* Nonzero: only bytecode and weights are loaded, no machine code. Functions run as bytecode, which the
   * loader verifies. Kernels that exist as machine code only must come from the host
   * (dyn_host.resolve_kernel); otherwise loading ends with DYN_UNSUPPORTED. */
  int32_t no_native_code;
  /* Null, or an Ed25519 public key of 32 bytes, read during the call. The loader then reads the whole package
   * and checks its signature by this key before it uses any part. DYN_BAD_PROGRAM: the signature is wrong or
   * missing. DYN_UNSUPPORTED: libsodium is not available. */
  const uint8_t* verify_key;
} dyn_load_options;

/* dyn_module_load_file with options; null: the defaults. */
DYN_API dyn_status dyn_module_load_file_with(const char* path, const dyn_host* host,
                                             const dyn_load_options* options, dyn_module** module);

#ifdef __cplusplus
}
#endif

#endif
