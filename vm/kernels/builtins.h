// Declares every row of builtins.def and its functions; each lives in the file of its family.
#pragma once

#include "vm/core/builtin/builtin.h"

namespace dyn::vm {

// Programs name the rows that they call, as symbols of objects.
extern "C" {
#define DYN_BUILTIN(Call, results, meaning, function) extern const BuiltinRow dyn_row_##Call;
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
// Of the runtime's own micro-kernels those for the machine it runs on.
const DynGemmFamily* dyn_machine_gemm_family();
}

namespace kernels {

#define HOSTED(function) Status function(BuiltinCall& call);
#define FLAT_ONLY(function) Status function(FlatCall& call);
#define FLAT(function, scratch)    \
  Status function(FlatCall& call); \
  Status scratch(const FlatCall& call, int64_t& elements);
#define FLAT_C(function, scratch)               \
  int32_t function(const DynBuiltinCall* call); \
  int32_t scratch(const DynBuiltinCall* call, uint64_t* bytes);
#define DYN_BUILTIN(Call, results, meaning, function) function
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef FLAT_C
#undef FLAT
#undef FLAT_ONLY
#undef HOSTED

}  // namespace kernels
}  // namespace dyn::vm
