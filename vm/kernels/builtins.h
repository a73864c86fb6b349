// Declares the function of every row of builtins.def; each lives in the file of its family.
#pragma once

#include "vm/core/builtin.h"

namespace dyn::vm::kernels {

#define RANGE(least, most) 0
#define DYN_BUILTIN(name, form, traits, results, arguments, scalars, numbers, meaning, function) \
  Status function(BuiltinCall& call);
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef RANGE

}  // namespace dyn::vm::kernels
