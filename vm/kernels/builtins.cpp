// The rows of builtins.def: each an object with a name of its own (dyn_row_Gemm), so that a program is linked
// with those that it calls and no others.
#include "vm/kernels/builtins.h"

namespace dyn::vm {

using calls::ANY;

#define RANGE(least, most) least, most
#define HOSTED(function) \
  kernels::function, {}
#define FLAT_ONLY(function) \
  nullptr, { nullptr, flatRun<kernels::function> }
#define FLAT(function, scratch) \
  nullptr, { flatScratchBytes<kernels::scratch>, flatRun<kernels::function> }
#define FLAT_C(function, scratch) \
  nullptr, { kernels::scratch, kernels::function }
#define DYN_BUILTIN(Call, results, meaning, function) \
  const BuiltinRow dyn_row_##Call = {                 \
      calls::Call::kRow,                              \
      calls::Call::kTraits,                           \
      results,                                        \
      calls::countsOf<calls::Call>(),                 \
      calls::describeCall<calls::Call>,               \
      meaning,                                        \
      function,                                       \
  };
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef FLAT_C
#undef FLAT
#undef FLAT_ONLY
#undef HOSTED
#undef RANGE

}  // namespace dyn::vm
