// All rows and the machine's own matrix kernels: the runtime as a library and in tools. What is linked with
// one model has vm/embedded/linked_rows.cpp instead.
#include "vm/kernels/builtins.h"

namespace dyn::vm {
namespace {

constexpr const BuiltinRow* kBuiltins[] = {
#define DYN_BUILTIN(Call, results, meaning, function) &dyn_row_##Call,
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
};

}  // namespace

std::span<const BuiltinRow* const> builtinTable() { return kBuiltins; }

const DynGemmFamily* defaultGemmFamily() { return dyn_machine_gemm_family(); }

}  // namespace dyn::vm
