/* dynvm.h: load a compiled model and run it. The public C API of Dyn. A package is code: see dyn_load.h.
 *
 * Example (error handling left out):
 *   dyn_module* module;  dyn_module_load_file("model.dynpkg", NULL, &module);
 *   dyn_context* context;  dyn_context_create(module, NULL, &context);
 *   int64_t shape[2] = {1, 59};
 *   dyn_value* ids;  dyn_value_tensor(context, DYN_I64, 2, shape, data, sizeof data, &ids);
 *   dyn_context_set_input_name(context, "input_ids", ids);  dyn_value_release(ids);
 *   if (dyn_context_run(context) != DYN_OK) fprintf(stderr, "%s\n", dyn_last_message());
 *   dyn_value* out;  dyn_context_get_output(context, 0, &out);
 *
 * Threads: a module is immutable; any number of threads may share it. A context, with every call that takes
 * it, belongs to one thread at a time; only dyn_context_cancel may come from any thread while the context
 * exists. A value may move between threads and be released on any; it must not be written while another
 * thread reads it.
 * Ownership: the caller releases every handle that a call returns, with the matching *_release. Handles are
 * reference-counted: one stays valid after the handles it came from are released.
 * Errors: every call that can fail returns a dyn_status; dyn_last_message() then returns one line for this
 * thread that names the location. A failed call sets its outputs to null and leaves everything else usable.
 * Nothing aborts, prints or throws.
 * Memory: sizes are in bytes; tensor data is dense and row-major, and aligned to 64 bytes where the runtime
 * allocated it. */
#ifndef DYNVM_H
#define DYNVM_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define DYN_API
#else
#define DYN_API __attribute__((visibility("default")))
#endif

/* As in C, an enum holds any int: also statuses of other headers, and numbers of later versions. */
#ifdef __cplusplus
#define DYN_OF_INT : int
#else
#define DYN_OF_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DYN_ABI_VERSION 5

typedef enum dyn_status DYN_OF_INT {
  DYN_OK = 0,
  DYN_INVALID_ARGUMENT = 1, /* the call itself is wrong: null handle, index out of range, missing input */
  DYN_BAD_PROGRAM = 2, /* the file or the bytes are damaged, of another version, or refused by the verifier */
  DYN_BAD_INPUT = 3,   /* an input has the wrong kind, dtype, rank or size */
  DYN_CHECK_FAILED = 4,  /* a run-time check of the program failed */
  DYN_ARITHMETIC = 5,    /* overflow or division by zero in size arithmetic */
  DYN_OUT_OF_RANGE = 6,  /* an index outside a tensor, list or tuple */
  DYN_OUT_OF_MEMORY = 7, /* the system has no more memory */
  DYN_MEMORY_LIMIT = 8,  /* the run needs more than dyn_options.memory_limit_bytes */
  DYN_CANCELLED = 9,     /* dyn_context_cancel, or the trap callback returned DYN_TRAP_STOP */
  DYN_DEPTH_LIMIT = 10,  /* calls nested deeper than dyn_options.depth_limit */
  DYN_KERNEL_FAULT = 11, /* a generated kernel returned a fault */
  DYN_UNSUPPORTED = 12,  /* well-formed, but not supported: the message says what */
  DYN_IO_ERROR = 13,     /* a file cannot be read or written */
  DYN_INTERNAL = 14      /* a bug of the runtime */
} dyn_status;

/* Element types. The numbers are those of files: new ones come last. What an element takes in memory:
 * dyn_dtype_size_bytes(). */
typedef enum dyn_dtype DYN_OF_INT {
  DYN_BOOL,
  DYN_I8,
  DYN_I16,
  DYN_I32,
  DYN_I64,
  DYN_U8,
  DYN_U16,
  DYN_U32,
  DYN_U64,
  DYN_F16,
  DYN_BF16,
  DYN_F32,
  DYN_F64,
  DYN_F8E4M3FN,
  DYN_F8E4M3FNUZ,
  DYN_F8E5M2,
  DYN_F8E5M2FNUZ,
  DYN_F8E8M0,
  DYN_F4E2M1,
  DYN_I4,
  DYN_U4,
  DYN_I2,
  DYN_U2,
  DYN_C64,
  DYN_C128,
  DYN_STRING,
  DYN_DTYPE_COUNT
} dyn_dtype;

typedef enum dyn_kind DYN_OF_INT {
  DYN_KIND_TENSOR,
  DYN_KIND_TUPLE,
  DYN_KIND_LIST,
  DYN_KIND_CLOSURE,
  DYN_KIND_STORAGE
} dyn_kind;

typedef struct dyn_module dyn_module;
typedef struct dyn_context dyn_context;
typedef struct dyn_value dyn_value;
typedef struct dyn_thread_pool dyn_thread_pool; /* threads that contexts share */
typedef struct dyn_builtin dyn_builtin;         /* of a library that a host adds: dyn_library.h */

/* A kernel that the host has, what it brings of matrix kernels, and native code of a program's functions:
 * abi/dyn_kernel.h and abi/dyn_flow.h say more. Only hosts of programs without packages bring them. */
typedef int32_t (*dyn_kernel_function)(void* const* buffers, const int64_t* scalars, int64_t begin,
                                       int64_t end, void* scratch);
struct DynGemmFamily;
struct DynFlowProgram;

/* What a host supplies to a module. Every member may be null. Load alone calls the callbacks, on the loading
 * thread. What they return must stay valid until the module is released; `release` is then called once. */
typedef struct dyn_host {
  void* user;
  /* Null: the symbol is unknown. */
  dyn_kernel_function (*resolve_kernel)(void* user, const char* symbol);
  /* Row `index` of the constants, aligned to 64 bytes where possible. */
  const void* (*resolve_constant)(void* user, int32_t index);
  /* Null: the runtime uses its own micro-kernels. */
  const struct DynGemmFamily* (*resolve_gemm_family)(void* user);
  /* The module has been released. */
  void (*release)(void* user);
  /* Load has read row `index` for the last time; runs use its packed form. */
  void (*forget_constant)(void* user, int32_t index);
  /* A builtin that the runtime lacks. Null: the name is unknown. */
  const dyn_builtin* (*resolve_builtin)(void* user, const char* name);
  /* Native host code of the program. Null: the runtime interprets the bytecode. */
  const struct DynFlowProgram* (*resolve_host_code)(void* user);
} dyn_host;

/* Zero means the default, for every member. */
typedef struct dyn_options {
  /* Threads of a run, the calling thread included; default 1, with thread_pool those of the pool. */
  int32_t thread_count;
  /* Nested calls; default 100000. */
  int32_t depth_limit;
  /* Limit of this context: tensors, objects and call stack. Default: dyn_usable_memory(). */
  uint64_t memory_limit_bytes;
  /* Idle memory kept between runs; default: unlimited. */
  uint64_t pool_cap_bytes;
  void* allocator_user;
  /* Default: the system's allocator. A null result means out of memory. */
  void* (*allocate)(void* user, size_t size_bytes, size_t alignment);
  void (*deallocate)(void* user, void* memory, size_t size_bytes);
  /* Nonzero: runs are dry runs, which only count memory. Kernels do not run, inputs are not read, outputs
   * have no elements. peak_bytes is that of a real run. Where memory depends on elements, the run ends with
   * DYN_UNSUPPORTED. */
  int32_t dry_run;
  /* Not null: tensors, objects and the call stack live here and nowhere else. The memory is filled from its
   * beginning, must be aligned to 64 bytes, and allows one thread. A run that needs more ends with
   * DYN_MEMORY_LIMIT. */
  void* memory;
  uint64_t memory_bytes;
  /* With dry_run: blocks are placed as in `memory`. After the first run of the context, held_bytes is the
   * size that `memory` must have for the first run of another context with the same shapes. One thread. */
  int32_t lay_out;
  /* Nonzero: the host code runs as bytecode, even where the module has native code. */
  int32_t interpret;
  /* Not null: runs use these threads, which contexts share; the context keeps the pool. Null: threads of the
   * context's own, thread_count - 1 beside the calling one. */
  dyn_thread_pool* thread_pool;
} dyn_options;

typedef enum dyn_trap_action DYN_OF_INT { DYN_TRAP_CONTINUE, DYN_TRAP_STEP, DYN_TRAP_STOP } dyn_trap_action;
/* Where a run has stopped: the instruction at `position` runs next. Strings are borrowed. */
typedef struct dyn_trap {
  int32_t function_index;
  uint32_t position; /* word position in the function's code */
  uint32_t depth;    /* frames below this one */
  const char* function;
  const char* place;       /* location in the source: "node /layer.0/MatMul (MatMul)"; "" if unknown */
  const char* instruction; /* its text */
} dyn_trap;
typedef dyn_trap_action (*dyn_trap_callback)(void* user, const dyn_trap* trap);

typedef struct dyn_statistics {
  uint64_t peak_bytes;         /* highest use of tensor and object memory in the last run (arena + pool) */
  uint64_t held_bytes;         /* now held from the system */
  uint64_t in_use_bytes;       /* now in live tensors and objects */
  uint64_t allocations_count;  /* system allocations in the last run; 0 once warm */
  uint64_t launches_count;     /* kernel launches of the last run */
  uint64_t instructions_count; /* of the last run; counted only while profiling */
  uint64_t run_ns;             /* wall time of the last run */
} dyn_statistics;

typedef struct dyn_contract_dim {
  int64_t value;    /* >= 0: constant; else see text */
  const char* text; /* "seq", "2*seq + 1", "?3"; "" for a constant; borrowed from the module */
  int64_t low, high, multiple;
} dyn_contract_dim;

/* --- library --- */
DYN_API int32_t dyn_abi_version(void);
DYN_API const char* dyn_status_text(dyn_status status); /* "memory limit" */
/* This thread's latest error, one line; "" before the first error. Valid until this thread's next call. */
DYN_API const char* dyn_last_message(void);
DYN_API const char* dyn_dtype_text(int32_t dtype); /* "f32"; null when out of range */
DYN_API size_t dyn_dtype_size_bytes(int32_t dtype);
/* Physical cores that this process may use: those in its affinity, at most the processor quota of its control
 * groups (a container), rounded up; at least 1. A good thread_count. */
DYN_API int32_t dyn_usable_cores(void);
/* Bytes: the machine's memory, at most the limit of this process's control groups. UINT64_MAX: unknown. */
DYN_API uint64_t dyn_usable_memory(void);
/* What limits these two: "affinity: 4 of 8 processors; control group: 1.5 cores, 512 MiB". "": nothing. Lives
 * as long as the process. */
DYN_API const char* dyn_usable_limits(void);
/* Layout of packed weights for this machine's kernels: "gemm 32, filters 32+16, ...". A package whose
 * metadata key "panels" holds another layout is refused. */
DYN_API const char* dyn_packed_weights_layout(void);

/* --- modules --- */
/* Loads a package (.dynpkg): constants are mapped, object code is linked. `host` may be null or add kernels
 * the package lacks. */
DYN_API dyn_status dyn_module_load_file(const char* path, const dyn_host* host, dyn_module** module);
/* Reads a whole package, or an executable that holds one, and compares its checksums. Loading leaves out
 * weights of 64 MiB and more; this call reads them, too. DYN_BAD_PROGRAM names the section that differs. */
DYN_API dyn_status dyn_package_check(const char* path);
/* Loads a serialized program (program_file.h); the bytes are copied. Constants and kernels come from the
 * host. */
DYN_API dyn_status dyn_module_load_memory(const void* bytes, size_t size_bytes, const dyn_host* host,
                                          dyn_module** module);
DYN_API void dyn_module_release(dyn_module* module);
DYN_API int32_t dyn_module_input_count(const dyn_module* module);
DYN_API int32_t dyn_module_output_count(const dyn_module* module);
/* Name, kind ("tensor", "tuple", ...), dtype and rank of an input or output; strings are borrowed from the
 * module. */
DYN_API dyn_status dyn_module_input(const dyn_module* module, int32_t index, const char** name,
                                    const char** kind, int32_t* dtype, int32_t* rank);
DYN_API dyn_status dyn_module_output(const dyn_module* module, int32_t index, const char** name,
                                     const char** kind, int32_t* dtype, int32_t* rank);
DYN_API dyn_status dyn_module_input_dim(const dyn_module* module, int32_t index, int32_t axis,
                                        dyn_contract_dim* dim);
DYN_API dyn_status dyn_module_output_dim(const dyn_module* module, int32_t index, int32_t axis,
                                         dyn_contract_dim* dim);
/* Value of a metadata key, or null. */
DYN_API const char* dyn_module_metadata(const dyn_module* module, const char* key);
/* The text form of the bytecode; borrowed from the module, made at the first call. */
DYN_API const char* dyn_module_disassembly(dyn_module* module);

/* --- thread pools --- */
/* Threads for the contexts that name the pool in dyn_options.thread_pool: of any modules, running at the same
 * time on any threads. thread_count (1 to 1024) counts the thread that calls a run: the pool has one less.
 * The first run that splits a kernel starts them.
 *
 * A kernel has at most as many parts as its context has threads, whatever else runs. The calling thread and
 * the free threads of the pool take part after part; kernels that run at the same time get equal shares. A
 * kernel that finds no thread free runs on the calling one alone, so a run never waits for another. Results
 * have the same bits as with threads of the context's own. Cancelling a run leaves others alone.
 *
 * fork(): the child has none of these threads. It may release pools and contexts of its parent, and makes its
 * own for runs. At exit nothing needs to be released. */
DYN_API dyn_status dyn_thread_pool_create(int32_t thread_count, dyn_thread_pool** pool);
DYN_API void dyn_thread_pool_retain(dyn_thread_pool* pool);
/* The threads end when pool and contexts are released. Null: nothing. */
DYN_API void dyn_thread_pool_release(dyn_thread_pool* pool);
DYN_API int32_t dyn_thread_pool_thread_count(const dyn_thread_pool* pool); /* 0: null */

/* --- contexts --- */
DYN_API dyn_status dyn_context_create(dyn_module* module, const dyn_options* options, dyn_context** context);
DYN_API void dyn_context_release(dyn_context* context);
/* An input stays set until it is set again; null clears it. The context shares the value. */
DYN_API dyn_status dyn_context_set_input(dyn_context* context, int32_t index, dyn_value* value);
DYN_API dyn_status dyn_context_set_input_name(dyn_context* context, const char* name, dyn_value* value);
/* Writes output `index` to the caller's `memory`, which must stay valid until the next bind or release; null
 * unbinds. A run whose output does not fit fails with DYN_BAD_INPUT, and the message gives both sizes. From
 * the second run on the program computes the tensor in place where it can; otherwise it is copied once. */
DYN_API dyn_status dyn_context_bind_output(dyn_context* context, int32_t index, void* memory,
                                           size_t size_bytes);
DYN_API dyn_status dyn_context_run(dyn_context* context);
/* Runs any function of the module by name with the given arguments; results are read with
 * dyn_context_get_output. */
DYN_API dyn_status dyn_context_run_function(dyn_context* context, const char* name,
                                            dyn_value* const* arguments, int32_t argument_count);
/* Number of results of the last run. */
DYN_API int32_t dyn_context_result_count(const dyn_context* context);
DYN_API dyn_status dyn_context_get_output(dyn_context* context, int32_t index, dyn_value** value);
/* Ends the run in progress with DYN_CANCELLED at its next jump, call or kernel. Any thread may call it.
 * Without a run in progress it does nothing. */
DYN_API void dyn_context_cancel(dyn_context* context);
/* Calls `callback` at breakpoints and after DYN_TRAP_STEP; null removes the callback. stepping != 0: the run
 * stops before its first instruction. */
DYN_API dyn_status dyn_context_set_trap(dyn_context* context, dyn_trap_callback callback, void* user,
                                        int32_t stepping);
/* enabled != 0 sets, 0 clears; function_index < 0 clears all. Positions are those of the disassembly. */
DYN_API dyn_status dyn_context_breakpoint(dyn_context* context, int32_t function_index, uint32_t position,
                                          int32_t enabled);
/* Inside the trap callback: a register of the function that is running. DYN_INVALID_ARGUMENT: the index is
 * past the last register, or no run is stopped. An empty object register gives *value = null. The value's
 * elements may change when the run continues. */
DYN_API dyn_status dyn_context_scalar_register(dyn_context* context, int32_t index, int64_t* value);
DYN_API dyn_status dyn_context_object_register(dyn_context* context, int32_t index, dyn_value** value);
/* Starts a new profile of the following runs, or ends it. */
DYN_API dyn_status dyn_context_profile(dyn_context* context, int32_t enabled);
/* format: "trace" (Chrome trace JSON), "json" or "csv" (table per kernel). Borrowed until the context's next
 * call. */
DYN_API const char* dyn_context_profile_text(dyn_context* context, const char* format);
/* One kernel launch or builtin call of the program, with its count and time since the profile began. `place`
 * is the location in the source, borrowed from the module. */
typedef struct dyn_progress {
  const char* place;
  uint64_t count, total_ns;
  int32_t is_latest; /* it is running, or it was the last to run */
} dyn_progress;
/* Writes the first `capacity` rows in program order and returns the number of rows: 0 before the first
 * profile. Any thread may call it, except during a call of dyn_context_profile. */
DYN_API int32_t dyn_context_progress(const dyn_context* context, dyn_progress* rows, int32_t capacity);
DYN_API dyn_status dyn_context_statistics(const dyn_context* context, dyn_statistics* statistics);
/* Sets the number of valid positions of a padded batch for the dry runs that follow. A program with sequence
 * packing computes only these. -1, the default: all positions are valid, which takes the most memory. */
DYN_API dyn_status dyn_context_dry_run_valid_positions(dyn_context* context, int64_t positions);
/* Gives idle memory back to the system. */
DYN_API void dyn_context_trim(dyn_context* context);

/* --- values --- */
/* A tensor with a copy of `data` (may be null: zero-filled). size_bytes must match the shape. */
DYN_API dyn_status dyn_value_tensor(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                                    const void* data, size_t size_bytes, dyn_value** value);
/* A tensor over the caller's memory; programs never write to it. `release(user, data)` is called on any
 * thread when the last reference is dropped. Null: the memory outlives every reference. */
DYN_API dyn_status dyn_value_borrow(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                                    const void* data, size_t size_bytes,
                                    void (*release)(void* user, const void* data), void* user,
                                    dyn_value** value);
/* A tensor with a copy of `data` and capacity for `room` rows along `axis` (room >= shape[axis]; no strings),
 * such as a cache of keys and values. A program that only appends rows to this input along `axis` writes
 * just the new rows: its output shares the memory. When the capacity is used up, or another run has appended
 * to the same value, the tensor moves to twice the capacity. Values that a caller holds keep their rows. A
 * program that needs dense elements of this input fails with DYN_UNSUPPORTED. */
DYN_API dyn_status dyn_value_growing(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                                     int32_t axis, int64_t room, const void* data, size_t size_bytes,
                                     dyn_value** value);
/* Distances between neighbours along each axis, in elements; `rank` entries are written. */
DYN_API dyn_status dyn_value_strides(const dyn_value* value, int64_t* strides);
/* The first element; dyn_value_strides gives the positions of the others. */
DYN_API const void* dyn_value_first(const dyn_value* value);
/* kind DYN_KIND_TUPLE (with a tag: algebraic value) or DYN_KIND_LIST. Items are shared; a null item is an
 * absent optional. */
DYN_API dyn_status dyn_value_compound(dyn_context* context, dyn_kind kind, int32_t tag,
                                      dyn_value* const* items, int64_t item_count, dyn_value** value);
/* A tensor of strings; each text is copied. */
DYN_API dyn_status dyn_value_strings(dyn_context* context, int32_t rank, const int64_t* shape,
                                     const char* const* texts, int64_t text_count, dyn_value** value);
DYN_API void dyn_value_retain(dyn_value* value);
DYN_API void dyn_value_release(dyn_value* value);
DYN_API dyn_kind dyn_value_kind(const dyn_value* value);
DYN_API int32_t dyn_value_dtype(const dyn_value* value); /* -1 unless a tensor */
DYN_API int32_t dyn_value_rank(const dyn_value* value);  /* -1 unless a tensor */
/* Borrowed, `rank` entries, as long as the value lives. */
DYN_API const int64_t* dyn_value_shape(const dyn_value* value);
/* All elements, dense and row-major. Null for strided tensors and for tensors on another device than the
 * cpu. */
DYN_API const void* dyn_value_data(const dyn_value* value);
DYN_API size_t dyn_value_size_bytes(const dyn_value* value);
/* Element `index` of a string tensor, zero-terminated, borrowed; null when the index is out of range. */
DYN_API const char* dyn_value_text(const dyn_value* value, int64_t index);
/* Items of a tuple or list (else -1), its tag, and item `index` as a value of its own (null when the field is
 * empty). */
DYN_API int64_t dyn_value_item_count(const dyn_value* value);
DYN_API int32_t dyn_value_tag(const dyn_value* value);
DYN_API dyn_status dyn_value_item(const dyn_value* value, int64_t index, dyn_value** item);

#ifdef __cplusplus
}
#endif
#endif
