/* dyn_builtin.h: the interface of hand-written kernels (builtins): arguments, results and callbacks. C, no
C++
 * types: the VM, an executable and a machine without a heap fill these structures for the same kernel.
 *
 * A kernel is two functions (DynBuiltinKernel). The first computes the size of the scratch memory. It reads
 * dtypes, shapes, numbers, scalars and the number of threads, so memory can be planned or predicted without
 * data; it reads elements only of settings, which are arguments after the first such as an axis. The second
 * function runs the call in the given memory.
 *
 * Units: sizes are in elements unless a name ends in Bytes. Ownership: the caller owns everything that a call
 * points at, and keeps it valid during the call. Errors: both functions return a dyn_status (dynvm.h), 0 on
 * success; before they return an error they may report its text (`fault`). Nothing throws, aborts or jumps.
 * Threads: a call runs on its caller's thread; only bodies of parallel loops run on others. */
#ifndef DYN_BUILTIN_H
#define DYN_BUILTIN_H

#include "dyn_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor as a kernel sees it. Elements may lie at any address. */
typedef struct DynTensorView {
  void* data;           /* the first element; never null, even without elements */
  const int64_t* shape; /* `rank` sizes, outermost first */
  /* Distances between neighbours along each axis, in elements. Null: dense, row-major. Only rows that declare
   * it receive others. */
  const int64_t* strides;
  int64_t elements; /* product of the sizes */
  uint32_t rank;
  int32_t dtype; /* dyn_dtype; DYN_NO_TENSOR: an absent argument, whose other members are not set */
} DynTensorView;

enum { DYN_NO_TENSOR = -1 };

/* An element of a string tensor is a pointer to this, or null for the empty string. Kernels read them. */
typedef struct DynText {
  uint64_t sizeBytes;
  char text[8]; /* sizeBytes characters and a zero */
} DynText;

/* A generated kernel of the program that computes a part of a call (an epilogue). */
typedef struct DynKernelEntry {
  const char* name;
  DynKernelFunction function;
  uint32_t bufferCount, outputCount, scalarCount;
  uint64_t scratchBytes; /* per call */
} DynKernelEntry;

/* A matrix product, to ask for its schedule (a row of the table of dyn_contraction.h). */
typedef struct DynProductSizes {
  int64_t rows, columns, depth;
  int64_t tasks;
  int64_t maxRows, panelWidth; /* of the micro-kernels */
  int32_t copiesA;
} DynProductSizes;

/* One piece of a parallel loop: the units [begin, end). */
typedef void (*DynBuiltinRange)(void* user, int64_t begin, int64_t end);

/* Services of the caller. Functions get the context itself, so it can be the first member of a larger
 * structure. A function that may be null is absent where the caller does not offer it. */
typedef struct DynBuiltinContext DynBuiltinContext;
struct DynBuiltinContext {
  int32_t threads; /* number of threads, at least 1 */
  /* Calls body(user, begin, end) for `tasks` pieces of [0, count), 1 < tasks <= threads and count. The sizes
  of
   * the pieces differ by at most one; the first pieces are the longer ones. Returns when all have finished.
   * Must not be called from a body. */
  void (*parallel)(const DynBuiltinContext* context, int64_t count, int32_t tasks, DynBuiltinRange body,
                   void* user);
  /* Nonzero: the call has been cancelled; it may return early, with 0. Any thread. */
  int32_t (*cancelled)(const DynBuiltinContext* context);
  /* Sets the text of the status that the call returns next, zero-terminated; copied. */
  void (*fault)(const DynBuiltinContext* context, const char* text);
  /* Reports the kernel variant that runs, and for which values; copied. May be null. */
  void (*version)(const DynBuiltinContext* context, const char* text);
  /* The cheapest schedule of a product, cached by its sizes. May be null. */
  int32_t (*schedule)(const DynBuiltinContext* context, const DynProductSizes* sizes);
  /* A cache of tables that kernels compute, by a kind (PlanCache) and a number. keepPlan takes ownership of
  the
   * plan and returns it; null: out of memory, the plan was dropped. The plan stays valid until the next
   * keepPlan; the cache calls drop(plan) when it removes it. Both may be null. */
  const void* (*findPlan)(const DynBuiltinContext* context, int32_t kind, int64_t size);
  const void* (*keepPlan)(const DynBuiltinContext* context, int32_t kind, int64_t size, void* plan,
                          void (*drop)(void* plan), uint64_t bytes);
  const DynKernelEntry* kernels; /* of the program */
  uint32_t kernelCount;
};

typedef struct DynBuiltinCall {
  const DynBuiltinContext* context;
  const DynGemmFamily* gemmFamily; /* of the program, for rows that declare it; otherwise null */
  const DynTensorView* arguments;
  const DynTensorView* results; /* the tensors to write, with their final shapes */
  const int64_t* scalars;       /* dims and scalar values of this call */
  const int32_t* numbers;       /* of the program */
  uint32_t argumentCount, resultCount, scalarCount, numberCount;
  void* scratch;         /* 64-byte aligned, not preserved between calls; null if scratchBytes is 0 */
  uint64_t scratchBytes; /* at least the result of the kernel's first function */
} DynBuiltinCall;

typedef struct DynBuiltinKernel {
  /* Null: the kernel needs no scratch memory. The function must not read `scratch` of the call. */
  int32_t (*scratchBytes)(const DynBuiltinCall* call, uint64_t* bytes);
  int32_t (*run)(const DynBuiltinCall* call);
} DynBuiltinKernel;

#ifdef __cplusplus
}
#endif
#endif
