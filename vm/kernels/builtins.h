// Declares the functions of every row of builtins.def; each lives in the file of its family.
#pragma once

#include "vm/core/builtin.h"

namespace dyn::vm::kernels {

#define HOSTED(function) Status function(BuiltinCall& call);
#define FLAT_ONLY(function) Status function(FlatCall& call);
#define FLAT(function, scratch)    \
  Status function(FlatCall& call); \
  Status scratch(const FlatCall& call, int64_t& elements);
#define DYN_BUILTIN(Call, form, traits, results, meaning, function) function
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef FLAT
#undef FLAT_ONLY
#undef HOSTED

}  // namespace dyn::vm::kernels
