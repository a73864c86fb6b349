/* What an exported library holds of its model: made as an object file by the exporter, read by model.cpp. */
#ifndef DYN_MODEL_DATA_H
#define DYN_MODEL_DATA_H

#include "vm/include/abi/dyn_flow.h"
#include "vm/include/abi/dyn_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DynModelKernel {
  const char* symbol;
  DynKernelFunction function;
} DynModelKernel;

/* The machine code for one kind of processor. */
typedef struct DynModelCode {
  const char* needs; /* what the processor must have: "x86_64:v3" (vm/core/module/processor.h) */
  const DynModelKernel* kernels;
  uint64_t kernel_count;
  const DynGemmFamily* gemm_family; /* null: the runtime's own */
  const DynFlowProgram* flow;       /* null: the bytecode is interpreted */
} DynModelCode;

typedef struct DynModelData {
  const void* package; /* without object code; at a page */
  uint64_t package_bytes;
  const DynModelCode* const* codes; /* the best of those that run here is taken */
  uint64_t code_count;
} DynModelData;

extern const DynModelData dyn_model_data;

#ifdef __cplusplus
}
#endif
#endif
