#include "vm/include/dyn_builtin_info.h"

#include "vm/core/builtin/builtin.h"

int32_t dyn_builtin_info(const char* name, DynBuiltinInfo* info) {
  const dyn::vm::BuiltinRow* row = name && info ? dyn::vm::findBuiltin(name) : nullptr;
  if (!row) return 0;
  info->meaning = row->meaning.data();  // a literal of builtins.def
  info->code = row->isFlat() ? reinterpret_cast<const void*>(row->flat.run)
                             : reinterpret_cast<const void*>(row->hosted);
  info->matrix_kernels = row->is(dyn::calls::GEMM) ? 1 : 0;
  return 1;
}
