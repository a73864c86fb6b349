// Libraries of kernels beside Dyn's own that this build knows: oneDNN, or none.
#pragma once

#include <string_view>

#include "compiler/support/result.h"
#include "vm/include/dynvm.h"

namespace dyn {

// Can programs be made with this version here? Error unsupportedFeature for a library's that this build, or
// this machine, has not; other names pass. Opens the library.
Status libraryReady(std::string_view version);

// dyn_host.resolve_builtin of modules that may call it; null if absent.
decltype(dyn_host::resolve_builtin) libraryBuiltins();

}  // namespace dyn
