/* dyn_freestanding.h: the freestanding runtime. It runs native host code (dyn_flow.h) in memory of the caller
 * and needs nothing else: no heap, no file, no thread, no C library beyond memcpy, memmove and memset. C, no
 * C++ types.
 *
 *   DynFreestanding* model;
 *   dyn_freestanding_create(&program, memory, memoryBytes, &model);
 *   dyn_freestanding_run(model, sizes, inputs, outputs, shapes);
 *
 * Every run places its blocks in the same way. The memory of a run depends only on the sizes and on branches
 * that depend on values; object headers have the same size with pointers of 32 and 64 bits. So a dry run on
 * one machine gives the memory of a run on another.
 *
 * Threads: a model belongs to one thread at a time; models share nothing. Errors: a dyn_status (dynvm.h);
 * dyn_freestanding_message() gives the details. */
#ifndef DYN_FREESTANDING_H
#define DYN_FREESTANDING_H

#include "dyn_flow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pointer that takes eight bytes everywhere. */
#define DYN_FREESTANDING_POINTER(type, name) \
  union {                                    \
    type name;                               \
    uint64_t name##Word;                     \
  }

/* The header of an object. */
typedef struct DynFreestandingObject {
  uint32_t references; /* with DYN_FREESTANDING_IMMORTAL: never counted, never freed */
  uint8_t kind, readOnly, dtype, rank;
  DYN_FREESTANDING_POINTER(struct DynFreestandingObject*, nextDead);
} DynFreestandingObject;

#define DYN_FREESTANDING_IMMORTAL 0x80000000u

enum DynFreestandingKind {
  DYN_FREESTANDING_STORAGE = 0,
  DYN_FREESTANDING_TENSOR = 1,
  DYN_FREESTANDING_TUPLE = 2,
  DYN_FREESTANDING_LIST = 3,
  DYN_FREESTANDING_CLOSURE = 4
};

typedef struct DynFreestandingStorage {
  DynFreestandingObject object;
  uint64_t sizeBytes;
  DYN_FREESTANDING_POINTER(char*, data);
  uint32_t unknown;  /* in a dry run: the elements have not been computed */
  uint32_t borrowed; /* the memory belongs to the caller */
  uint64_t padding;  /* fills header and block header to 64 bytes; the elements follow */
} DynFreestandingStorage;

/* Followed by its sizes, and by its strides if it is not dense. Constants of a program are immortal tensors
in
 * read-only memory. */
typedef struct DynFreestandingTensor {
  DynFreestandingObject object;
  int64_t elements;
  DYN_FREESTANDING_POINTER(char*, data);                      /* null: not dense */
  DYN_FREESTANDING_POINTER(char*, first);                     /* the element at index 0 of every axis */
  DYN_FREESTANDING_POINTER(DynFreestandingStorage*, storage); /* counted; null: none */
} DynFreestandingTensor;

/* The hand-written kernels of vm/kernels/builtins.def that this runtime has: ROW(name). Each is a
 * function dyn_freestanding_builtin_NAME (vm/freestanding/builtins.h), linked where a program calls it. */
#define DYN_FREESTANDING_BUILTINS(ROW) \
  ROW(check_values)                    \
  ROW(compress)                        \
  ROW(concat)                          \
  ROW(copy)                            \
  ROW(cumsum)                          \
  ROW(list_concat)                     \
  ROW(list_stack)                      \
  ROW(nms)                             \
  ROW(nonzero)                         \
  ROW(range)                           \
  ROW(scatter_elements)                \
  ROW(scatter_nd)                      \
  ROW(sort)                            \
  ROW(split_to_list)                   \
  ROW(topk)                            \
  ROW(unique)

struct FreestandingCall;
/* 1, or 0 after a fault. */
typedef int32_t (*DynFreestandingBuiltinFunction)(struct FreestandingCall* call);
#define DYN_FREESTANDING_BUILTIN_DECLARED(name) \
  int32_t dyn_freestanding_builtin_##name(struct FreestandingCall* call);
DYN_FREESTANDING_BUILTINS(DYN_FREESTANDING_BUILTIN_DECLARED)
#undef DYN_FREESTANDING_BUILTIN_DECLARED

typedef struct DynFreestandingBuiltin {
  DynFreestandingBuiltinFunction run;
  const char* name;
} DynFreestandingBuiltin;

typedef struct DynFreestandingFunction {
  uint32_t scalars, objects; /* registers */
  uint32_t parameters, results;
  uint32_t firstPiece, pieces; /* among those of the native code */
  uint32_t firstPlace, places; /* among those of the program, by rising positions */
} DynFreestandingFunction;

/* The location in the model of the host code from `position` on (vm::PlaceRow). */
typedef struct DynFreestandingPlace {
  uint32_t position;
  uint32_t string;
  int32_t checks; /* a string; -1: none */
} DynFreestandingPlace;

typedef struct DynFreestandingKernel {
  DynKernelFunction run;
  const char* name;
  uint32_t buffers, outputs; /* the last `outputs` buffers are written */
  uint64_t scratchBytes;
} DynFreestandingKernel;

/* A size that the caller passes (vm/isa/call_sizes.h). */
typedef struct DynFreestandingSize {
  const char* name;
  int64_t low, high, multiple;
} DynFreestandingSize;

typedef struct DynFreestandingAxis {
  int64_t value; /* >= 0: constant */
  uint64_t size; /* else which of the sizes */
} DynFreestandingAxis;

typedef struct DynFreestandingPort {
  const char* name;
  const DynFreestandingAxis* axes; /* of inputs */
  uint32_t dtype, rank;
} DynFreestandingPort;

typedef struct DynFreestandingProgram {
  const DynFlowProgram* flow;
  const DynFlowTable* table; /* null: the code calls by name */
  const DynFreestandingFunction* functions;
  const DynFreestandingKernel* kernels;
  const DynFreestandingTensor* const* constants;
  const DynFreestandingPlace* places;
  const char* const* strings;
  const DynFreestandingBuiltin* builtins;
  const DynFreestandingSize* sizes;
  const DynFreestandingPort* inputs;
  const DynFreestandingPort* outputs;
  uint32_t mainFunction;
  uint32_t sizeCount, inputCount, outputCount;
  uint32_t mostBuffers;   /* of any kernel */
  uint32_t alignment;     /* of elements: 16, 32 or 64 */
  uint64_t ramBoundBytes; /* most memory of any run; 0: unknown */
} DynFreestandingProgram;

typedef struct DynFreestanding DynFreestanding;

typedef struct DynFreestandingOutput {
  void* data; /* null: not wanted */
  size_t bytes;
} DynFreestandingOutput;

/* Least size of the memory for dyn_freestanding_create. */
uint64_t dyn_freestanding_least_bytes(void);
/* `memory` must be aligned to 64 bytes. It belongs to the model until the next model is created there. */
int32_t dyn_freestanding_create(const DynFreestandingProgram* program, void* memory, uint64_t bytes,
                                DynFreestanding** model);
/* `sizes`: one for each size of the program. `shapes` receives the sizes of the outputs, one for each axis
 * and 1 for a scalar; may be null. */
int32_t dyn_freestanding_run(DynFreestanding* model, const int64_t* sizes, const void* const* inputs,
                             const DynFreestandingOutput* outputs, int64_t* shapes);
/* After a successful run: an output, dense, valid until the next run. */
const DynFreestandingTensor* dyn_freestanding_output(const DynFreestanding* model, uint32_t index);
/* Like a run, but without kernels. `choose` supplies each element, or size that depends on elements, that
 * only a kernel would compute; null: the dry run then ends with DYN_UNSUPPORTED. The value lies between
 * `least` and `most`; `most` < `least`: any value of the dtype. */
typedef int32_t (*DynFreestandingChoose)(void* user, int32_t dtype, int64_t least, int64_t most,
                                         int64_t* value);
int32_t dyn_freestanding_dry_run(DynFreestanding* model, const int64_t* sizes, int64_t* shapes,
                                 DynFreestandingChoose choose, void* user);
/* Peak memory of the latest run or dry run. */
uint64_t dyn_freestanding_peak_bytes(const DynFreestanding* model);
/* Ends the run in progress with DYN_CANCELLED. Any thread. */
void dyn_freestanding_cancel(DynFreestanding* model);
/* One line about the latest error of the model; "" when there was none. */
const char* dyn_freestanding_message(const DynFreestanding* model);

/* The functions of dyn_flow.def, for code that is loaded separately. */
extern const DynFlowTable dyn_freestanding_table;
extern const DynFreestandingBuiltinFunction
    dyn_freestanding_builtins[]; /* in the order of DYN_FREESTANDING_BUILTINS */

#ifdef __cplusplus
}
#endif
#endif
