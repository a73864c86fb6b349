/* Native code of the host program: what it is, and what it may call. C, no C++ types: code that the compiler
 * makes of bytecode runs under the VM, which calls it through DynFlowProgram, and under any other runtime
 * that has the functions of dyn_flow.def.
 *
 * A function of the program is one piece of code, or several where it is long. Scalar registers live in the
 * code's own registers; object registers belong to the runtime, which the code tells what to do with them.
 * Code never calls code: `dyn_flow_invoke` enters a frame, and the code returns DYN_FLOW_GO. So the depth of
 * calls costs no stack of the thread, and a frame that waits holds its live scalars in `scalars`.
 *
 * Threads: a flow belongs to the thread that runs it. */
#ifndef DYN_FLOW_H
#define DYN_FLOW_H

#include "dyn_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DYN_FLOW_VERSION 1

typedef struct DynFlow DynFlow;

/* What code returns. */
enum DynFlowOutcome {
  DYN_FLOW_FAULT = 0, /* the runtime knows why */
  DYN_FLOW_GO = 1,    /* the runtime goes on with the frame on top */
  DYN_FLOW_DONE = 2,  /* the outermost function has returned */
  DYN_FLOW_MOVED = 3  /* the same frame goes on at `position`, which is in another piece */
};

/* Functions by pointers, for code that is loaded into a running VM and sees none of its symbols. Code that is
 * linked with its runtime calls dyn_flow_NAME. */
typedef struct DynFlowTable {
#define DYN_FLOW(name, parameters, meaning) int32_t(*name) parameters;
#include "dyn_flow.def"
#undef DYN_FLOW
} DynFlowTable;

#define DYN_FLOW(name, parameters, meaning) int32_t dyn_flow_##name parameters;
#include "dyn_flow.def"
#undef DYN_FLOW

/* The head of what a runtime keeps of a run; code reads and writes these fields alone. */
struct DynFlow {
  const DynFlowTable* table;
  int64_t* scalars; /* of the running frame: one word for each scalar register, used while it waits */
  const DynKernelFunction* kernels;
  /* Object registers of the running frame, constants and globals. Code writes into registers nothing (null),
   * constants and globals alone, where it knows that what was there is not counted. */
  void** objects;
  void* const* constants;
  void* const* globals;
  /* Not zero: the run is to end, or is watched. Code looks at it before it jumps backwards, and launches
   * kernels through dyn_flow_launch alone. Any thread writes it. */
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
  uint64_t
      digest; /* of the bytecode it was made of (vm/isa/flow_digest.h): both are for each other or none */
  const DynFlowPiece* pieces; /* ascending by function, then position */
} DynFlowProgram;

#ifdef __cplusplus
}
#endif
#endif
