/* The interface of hand-written kernels (builtins): what a kernel is given, what it may ask of whoever calls
 * it, and what it gives back. C, no C++ types: the same kernel serves the VM, an executable and a machine
 * without a heap, which need only fill these structures.
 *
 * A kernel is two functions (DynBuiltinKernel). The first says how much scratch memory a call needs. It looks
 * at dtypes, shapes, numbers, scalars and the number of threads, so that memory can be planned, or predicted,
 * before there is any data; at elements only of settings: arguments behind the first that say how, such as an
 * axis, in rows that have some. The second does the call in the memory it is given.
 *
 * Units: sizes in elements unless a name ends in Bytes. Ownership: everything a call points at belongs to the
 * caller and is valid during the call. Errors: both functions return a dyn_status (dynvm.h), 0 when all is
 * well; before another one they may report its text (`fault`). Nothing throws, aborts or jumps across.
 * Threads: a call belongs to the thread that makes it; only bodies of parallel loops run elsewhere. */
#ifndef DYN_BUILTIN_H
#define DYN_BUILTIN_H

#include "dyn_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor as a kernel sees it. Elements may lie at any address. */
typedef struct DynTensorView {
  void* data;             /* the first element; not null for a tensor without elements either */
  const int64_t* shape;   /* `rank` sizes, outermost first */
  const int64_t* strides; /* distances between neighbours along each axis; null: dense, row-major. Only rows
                             that say so are given others */
  int64_t elements;       /* product of the sizes */
  uint32_t rank;
  int32_t dtype; /* dyn_dtype; DYN_NO_TENSOR: an argument that is left out, of which nothing else is set */
} DynTensorView;

enum { DYN_NO_TENSOR = -1 };

/* An element of a string tensor is a pointer to this, or null for the empty string. Kernels read them. */
typedef struct DynText {
  uint64_t sizeBytes;
  char text[8]; /* sizeBytes characters and a zero */
} DynText;

/* A generated kernel of the program, for the parts of a call that are computed by one (epilogues). */
typedef struct DynKernelEntry {
  const char* name;
  DynKernelFunction function;
  uint32_t bufferCount, outputCount, scalarCount;
  uint64_t scratchBytes; /* for each call of it */
} DynKernelEntry;

/* A matrix product whose schedule (a row of dyn_contraction.h's table) is wanted. */
typedef struct DynProductSizes {
  int64_t rows, columns, depth;
  int64_t tasks;
  int64_t maxRows, panelWidth; /* of the micro-kernels */
  int32_t copiesA;
} DynProductSizes;

/* One piece of a parallel loop: the units [begin, end). */
typedef void (*DynBuiltinRange)(void* user, int64_t begin, int64_t end);

/* What a kernel may ask of its caller. Functions get the context itself, so that it can be the head of a
 * larger structure. Those that may be null are missing where the caller has no such thing. */
typedef struct DynBuiltinContext DynBuiltinContext;
struct DynBuiltinContext {
  int32_t threads; /* that run at the same time, at least 1 */
  /* body(user, begin, end) for `tasks` nearly equal pieces of [0, count), 1 < tasks <= threads and count; the
   * first ones are longer by one where they are not equal. Returns when all are done. Not from a body. */
  void (*parallel)(const DynBuiltinContext* context, int64_t count, int32_t tasks, DynBuiltinRange body,
                   void* user);
  /* Not 0: what the call computes is not wanted any more; it may return early, with 0. Any thread. */
  int32_t (*cancelled)(const DynBuiltinContext* context);
  /* The text of the status that is returned next, zero-terminated; copied. */
  void (*fault)(const DynBuiltinContext* context, const char* text);
  /* Which version of the kernel runs, and for which values: copied. Null: nobody asks. */
  void (*version)(const DynBuiltinContext* context, const char* text);
  /* The cheapest schedule of a product, remembered for sizes that come again. May be null. */
  int32_t (*schedule)(const DynBuiltinContext* context, const DynProductSizes* sizes);
  /* Tables that a kernel has made and wants to find again, by its kind (PlanCache) and a number. `keep` owns
   * the plan from then on, calls drop(plan) when it goes, and returns it (null: no memory, and it has gone);
   * it stays until the next `keep`. May both be null. */
  const void* (*findPlan)(const DynBuiltinContext* context, int32_t kind, int64_t size);
  const void* (*keepPlan)(const DynBuiltinContext* context, int32_t kind, int64_t size, void* plan,
                          void (*drop)(void* plan), uint64_t bytes);
  const DynKernelEntry* kernels; /* of the program */
  uint32_t kernelCount;
};

typedef struct DynBuiltinCall {
  const DynBuiltinContext* context;
  const DynGemmFamily* gemmFamily; /* of the program, for rows that say so, else null */
  const DynTensorView* arguments;
  const DynTensorView* results; /* the tensors to be written, of the shapes they are to have */
  const int64_t* scalars;       /* dims and scalar values of this call */
  const int32_t* numbers;       /* of the program */
  uint32_t argumentCount, resultCount, scalarCount, numberCount;
  void* scratch; /* 64-byte aligned; what it holds is not kept between calls. Null when scratchBytes is 0 */
  uint64_t scratchBytes; /* at least what the kernel's first function said */
} DynBuiltinCall;

typedef struct DynBuiltinKernel {
  /* Null: none is needed, ever. `scratch` of the call is not looked at. */
  int32_t (*scratchBytes)(const DynBuiltinCall* call, uint64_t* bytes);
  int32_t (*run)(const DynBuiltinCall* call);
} DynBuiltinKernel;

#ifdef __cplusplus
}
#endif
#endif
