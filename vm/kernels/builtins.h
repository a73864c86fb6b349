// Declares the functions of every row of builtins.def; each lives in the file of its family.
#pragma once

#include "vm/core/builtin.h"

namespace dyn::vm::kernels {

#define RANGE(least, most) 0
#define HOSTED(function) Status function(BuiltinCall& call);
#define FLAT_ONLY(function) Status function(FlatCall& call);
#define FLAT(function, scratch)    \
  Status function(FlatCall& call); \
  Status scratch(const FlatCall& call, int64_t& elements);
#define DYN_BUILTIN(name, form, traits, results, arguments, scalars, numbers, meaning, function) function
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef FLAT
#undef FLAT_ONLY
#undef HOSTED
#undef RANGE

}  // namespace dyn::vm::kernels
