/* dyn_flow.h: host code as native code, and the functions that it may call. C, no C++ types. The compiler
 * translates bytecode to this code. It runs under the VM, which calls it through DynFlowProgram, and under
 * any runtime with the functions of dyn_flow.def.
 *
 * A function of the program is one piece of code, or several if it is long. Scalar registers live in machine
 * registers; object registers belong to the runtime, and the code changes them by calls. Code never calls
 * code: `dyn_flow_invoke` enters a frame, and the code returns DYN_FLOW_GO. So nested calls take no stack of
 * the thread, and a waiting frame keeps its live scalars in `scalars`.
 *
 * Threads: a DynFlow belongs to the thread that runs it. */
#ifndef DYN_FLOW_H
#define DYN_FLOW_H

#include "dyn_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DYN_FLOW_VERSION 1

typedef struct DynFlow DynFlow;

/* Return value of the code. */
enum DynFlowOutcome {
  DYN_FLOW_FAULT = 0, /* the runtime has recorded the fault */
  DYN_FLOW_GO = 1,    /* the runtime continues with the top frame */
  DYN_FLOW_DONE = 2,  /* the outermost function has returned */
  DYN_FLOW_MOVED = 3  /* the same frame continues at `position`, which is in another piece */
};

/* Function pointers, for code that is loaded into a running VM without access to its symbols. Code that is
 * linked with its runtime calls dyn_flow_NAME. */
typedef struct DynFlowTable {
#define DYN_FLOW(name, parameters, meaning) int32_t(*name) parameters;
#include "dyn_flow.def"
#undef DYN_FLOW
} DynFlowTable;

#define DYN_FLOW(name, parameters, meaning) int32_t dyn_flow_##name parameters;
#include "dyn_flow.def"
#undef DYN_FLOW

/* First member of a runtime's state of a run; the code accesses only these fields. */
struct DynFlow {
  const DynFlowTable* table;
  int64_t* scalars; /* of the running frame: one word for each scalar register, used while it waits */
  const DynKernelFunction* kernels;
  /* Object registers of the running frame, constants and globals. The code writes only null, constants and
   * globals into registers, and only over objects that are not counted. */
  void** objects;
  void* const* constants;
  void* const* globals;
  /* Nonzero: the run has been cancelled or is being debugged. The code checks it before backward jumps, and
   * then launches kernels through dyn_flow_launch only. Any thread writes it. */
  const volatile uint32_t* trap;
  int64_t directSteps; /* a launch of fewer elementary steps is one call of its kernel, for all units */
  uint64_t launches;   /* counts those */
  uint32_t position;   /* of the instruction that runs: written before anything that may fault */
};

/* Runs the frame on top from `position`: 0, behind a call, or where another piece has jumped to. Returns a
 * DynFlowOutcome. */
typedef int32_t (*DynFlowCode)(DynFlow* flow, uint32_t position);

typedef struct DynFlowPiece {
  uint32_t function, begin; /* the code covers the positions from `begin` to the next piece of the function */
  uint32_t views;           /* places for views in a frame of the function */
  DynFlowCode code;
} DynFlowPiece;

#define DYN_FLOW_PROGRAM_SYMBOL "dyn_flow_program"

/* Under that name in a package's object. */
typedef struct DynFlowProgram {
  uint32_t version; /* DYN_FLOW_VERSION */
  uint32_t pieceCount;
  /* Digest of the bytecode that this is the code of (vm/isa/flow_digest.h). Both must match. */
  uint64_t digest;
  const DynFlowPiece* pieces; /* ascending by function, then position */
} DynFlowProgram;

#ifdef __cplusplus
}
#endif
#endif
