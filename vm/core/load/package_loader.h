// Loads a package into a Module: the file is mapped, constants stay in the mapping (shared by processes), the
// best fitting object section is linked.
#pragma once

#include "vm/core/module/module.h"
#include "vm/isa/package_signature.h"

namespace dyn::vm {

enum class NativeCode : bool { leftOut, taken };
struct PackageOptions {
  const char* device = nullptr;  // as in dyn_gpu.h
  NativeCode code = NativeCode::taken;
  std::optional<VerifyKey> key;  // given: the package must be signed by it; checked before anything is read
};

// Takes over `host` (its release is called when the module dies or the load fails). Kernels are looked for in
// the object code, then in the host. Checksums of the program and objects are always compared, that of the
// constants when they are below 64 MB (larger ones would cost reading the whole file at start; vmrun verify
// compares them). Without native code the functions run as bytecode, and kernels are the host's; unsupported
// where it has none of them.
Status loadPackage(const std::string& path, const dyn_host& host, const PackageOptions& how,
                   std::shared_ptr<Module>& module);

// Reads all of the file and compares it with its sums.
Status checkPackage(const std::string& path);

}  // namespace dyn::vm
