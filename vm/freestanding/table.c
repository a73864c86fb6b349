/* The functions of the freestanding runtime by pointers, for code that is loaded into a process. */
#include "vm/include/abi/dyn_freestanding.h"

const DynFreestandingBuiltinFunction dyn_freestanding_builtins[] = {
#define DYN_FREESTANDING_BUILTIN_FUNCTION(name) &dyn_freestanding_builtin_##name,
    DYN_FREESTANDING_BUILTINS(DYN_FREESTANDING_BUILTIN_FUNCTION)
#undef DYN_FREESTANDING_BUILTIN_FUNCTION
};

const DynFlowTable dyn_freestanding_table = {
#define DYN_FLOW(name, parameters, meaning) &dyn_flow_##name,
#include "vm/include/abi/dyn_flow.def"
#undef DYN_FLOW
};
