/* Which hand-written kernels a linked program has: made as an object file by the exporter, of the symbols of
 * the rows that the program calls (dyn_row_Gemm: vm/kernels/builtins.h). What nothing names is not linked;
 * what is named and not there is an error of the linker. */
#ifndef DYN_LINKED_ROWS_H
#define DYN_LINKED_ROWS_H

#include "vm/include/abi/dyn_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DynLinkedRows {
  uint64_t count;
  const void* const* rows; /* BuiltinRow */
  const DynGemmFamily* (*gemm_family)(
      void); /* of the runtime; null: the program has its own, or needs none */
} DynLinkedRows;

extern const DynLinkedRows dyn_linked_rows;

#ifdef __cplusplus
}
#endif
#endif
