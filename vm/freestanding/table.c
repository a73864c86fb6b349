/* The functions of the runtime in fixed memory by pointers, for code that is loaded into a process. */
#include "vm/include/abi/dyn_freestanding.h"

const DynFixedBuiltinFunction dyn_fixed_builtins[] = {
#define DYN_FIXED_BUILTIN_FUNCTION(name) &dyn_fixed_builtin_##name,
    DYN_FIXED_BUILTINS(DYN_FIXED_BUILTIN_FUNCTION)
#undef DYN_FIXED_BUILTIN_FUNCTION
};

const DynFlowTable dyn_fixed_table = {
#define DYN_FLOW(name, parameters, meaning) &dyn_flow_##name,
#include "vm/include/abi/dyn_flow.def"
#undef DYN_FLOW
};
