// Loads a package into a Module: the file is mapped, constants stay in the mapping (shared by processes), the
// best fitting object section is linked.
#pragma once

#include "vm/core/module.h"

namespace dyn::vm {

// Takes over `host` (its release is called when the module dies or the load fails). Kernels are looked for in
// the object code, then in the host. Checksums of the program and objects are always compared, that of the
// constants when they are below 64 MB (larger ones would cost reading the whole file at start; vmrun verify
// compares them).
Status loadPackage(const std::string& path, const dyn_host& host, const char* device,
                   std::shared_ptr<Module>& module);

}  // namespace dyn::vm
