// The table of builtins of a runtime that is linked with one program.
#include "vm/embedded/linked_rows.h"

#include "vm/core/builtin/builtin.h"

namespace dyn::vm {

std::span<const BuiltinRow* const> builtinTable() {
  return {reinterpret_cast<const BuiltinRow* const*>(dyn_linked_rows.rows), dyn_linked_rows.count};
}

const DynGemmFamily* defaultGemmFamily() {
  return dyn_linked_rows.gemm_family ? dyn_linked_rows.gemm_family() : nullptr;
}

}  // namespace dyn::vm
