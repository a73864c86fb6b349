/* The functions of the runtime in fixed memory by pointers, for code that is loaded into a process. */
#include "vm/include/dyn_fixed.h"

const DynFlowTable dyn_fixed_table = {
#define DYN_FLOW(name, parameters, meaning) &dyn_flow_##name,
#include "vm/include/dyn_flow.def"
#undef DYN_FLOW
};
