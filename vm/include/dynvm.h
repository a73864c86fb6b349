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
 * Threads: a module is immutable and may be shared by any number of threads; a context and the calls that
 * take it belong to one thread at a time, except dyn_context_cancel, which any thread may call while the
 * context exists. A value may be passed between threads and released on any; it must not be written while
 * another thread reads it. Ownership: every handle that a call gives out is the caller's, who releases it
 * with the matching *_release; a handle stays valid after the handles it came from are released (they are
 * counted inside). Errors: every call that can fail returns a dyn_status; dyn_last_message() then holds one
 * line (this thread's latest) that names the place. A failed call leaves its outputs null and everything else
 * usable. Nothing aborts, prints or throws. Memory: sizes in bytes; tensor data is dense, row-major and
 * 64-byte aligned when the runtime allocated it. */
#ifndef DYNVM_H
#define DYNVM_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define DYN_API
#else
#define DYN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DYN_ABI_VERSION 4

typedef enum dyn_status {
  DYN_OK = 0,
  DYN_INVALID_ARGUMENT = 1, /* the call itself is wrong: null handle, index out of range, missing input */
  DYN_BAD_PROGRAM = 2, /* the file or the bytes are damaged, of another version, or refused by the verifier */
  DYN_BAD_INPUT = 3,   /* an input has the wrong kind, dtype, rank or size */
  DYN_CHECK_FAILED = 4,  /* a run-time check of the program failed */
  DYN_ARITHMETIC = 5,    /* overflow or division by zero in size arithmetic */
  DYN_OUT_OF_RANGE = 6,  /* an index outside a tensor, list or tuple */
  DYN_OUT_OF_MEMORY = 7, /* the system gave no memory */
  DYN_MEMORY_LIMIT = 8,  /* more memory than dyn_options.memory_limit_bytes would be needed */
  DYN_CANCELLED = 9,     /* dyn_context_cancel, or the trap callback said stop */
  DYN_DEPTH_LIMIT = 10,  /* calls nested deeper than dyn_options.depth_limit */
  DYN_KERNEL_FAULT = 11, /* a generated kernel returned a fault */
  DYN_UNSUPPORTED = 12,  /* well-formed, but not supported: the message says what */
  DYN_IO_ERROR = 13,     /* a file cannot be read or written */
  DYN_INTERNAL = 14      /* a bug of the runtime */
} dyn_status;

/* Element types. The numbers are those of files: new ones come last. What an element takes in memory:
 * dyn_dtype_size_bytes(). */
typedef enum dyn_dtype {
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

typedef enum dyn_kind {
  DYN_KIND_TENSOR,
  DYN_KIND_TUPLE,
  DYN_KIND_LIST,
  DYN_KIND_CLOSURE,
  DYN_KIND_STORAGE
} dyn_kind;

typedef struct dyn_module dyn_module;
typedef struct dyn_context dyn_context;
typedef struct dyn_value dyn_value;
typedef struct dyn_builtin dyn_builtin; /* of a library that a host brings: dyn_library.h */

/* A kernel that the host has, what it brings of matrix kernels, and native code of a program's functions:
 * abi/dyn_kernel.h and abi/dyn_flow.h say more. Only hosts of programs without packages bring them. */
typedef int32_t (*dyn_kernel_function)(void* const* buffers, const int64_t* scalars, int64_t begin,
                                       int64_t end, void* scratch);
struct DynGemmFamily;
struct DynFlowProgram;

/* What a host supplies to a module. Every member may be null. Callbacks are called during load only, on the
 * loading thread;
 * what they return must stay valid until the module is gone (release is then called once). */
typedef struct dyn_host {
  void* user;
  dyn_kernel_function (*resolve_kernel)(void* user, const char* symbol); /* null: unknown symbol */
  const void* (*resolve_constant)(
      void* user, int32_t index); /* row `index` of the constants; 64-byte aligned preferred */
  const struct DynGemmFamily* (*resolve_gemm_family)(void* user); /* null: the runtime's own micro-kernels */
  void (*release)(void* user);                                    /* the module is gone */
  void (*forget_constant)(
      void* user,
      int32_t
          index); /* load has read row `index` for the last time: only its packed form is used from now on */
  /* a builtin that the runtime has not; null: unknown */
  const dyn_builtin* (*resolve_builtin)(void* user, const char* name);
  const struct DynFlowProgram* (*resolve_flow)(
      void* user); /* native code of the program's functions; null: none */
} dyn_host;

/* Zero means the default, for every member. */
typedef struct dyn_options {
  int32_t thread_count; /* default 1; the calling thread is one of them */
  int32_t depth_limit;  /* nested calls; default 100000 */
  uint64_t
      memory_limit_bytes; /* of this context: tensors, objects and call stack; default: the physical memory */
  uint64_t pool_cap_bytes; /* idle memory kept between runs; default: no cap */
  void* allocator_user;
  void* (*allocate)(void* user, size_t size_bytes,
                    size_t alignment); /* default: the system; null result: out of memory */
  void (*deallocate)(void* user, void* memory, size_t size_bytes);
  /* Nonzero: runs only count memory. Kernels do not run, inputs are not read, outputs have no elements;
   * peak_bytes is that of a real run. Where memory depends on elements the run ends with DYN_UNSUPPORTED. */
  int32_t rehearsal;
  /* Given: tensors, objects and the call stack live here and nowhere else, filled from the beginning; at a
   * multiple of 64, with one thread. A run that needs more ends with DYN_MEMORY_LIMIT. */
  void* memory;
  uint64_t memory_bytes;
  /* With rehearsal: blocks are placed as in `memory`, so after the first run of the context held_bytes is
   * what `memory` must have for the first run of another one with the same shapes. One thread. */
  int32_t lay_out;
  int32_t interpret; /* nonzero: functions run as bytecode, also where the module has native code of them */
} dyn_options;

typedef enum dyn_trap_action { DYN_TRAP_CONTINUE, DYN_TRAP_STEP, DYN_TRAP_STOP } dyn_trap_action;
/* Where the run stands when the trap callback is called, before the instruction at `position` runs. Strings
 * are borrowed. */
typedef struct dyn_trap {
  int32_t function_index;
  uint32_t position; /* word position in the function's code */
  uint32_t depth;    /* frames below this one */
  const char* function;
  const char* place;       /* the user's place: "node /layer.0/MatMul (MatMul)"; "" when there is none */
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
/* This thread's latest error, one line; "" when there was none. Valid until this thread's next call. */
DYN_API const char* dyn_last_message(void);
DYN_API const char* dyn_dtype_text(int32_t dtype); /* "f32"; null when out of range */
DYN_API size_t dyn_dtype_size_bytes(int32_t dtype);
/* How packed weights lie for this machine's kernels: "gemm 32, filters 32+16, ...". A package whose metadata
 * "panels" says otherwise is refused. */
DYN_API const char* dyn_panels(void);

/* --- modules --- */
/* Loads a package (.dynpkg): constants are mapped, object code is linked. `host` may be null or add kernels
 * the package lacks. */
DYN_API dyn_status dyn_module_load_file(const char* path, const dyn_host* host, dyn_module** module);
/* Reads all of a package, or of an executable that holds one, and compares it with its sums, also weights
 * of 64 MiB and more, which loading maps unread. DYN_BAD_PROGRAM names the section that differs. */
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

/* --- contexts --- */
DYN_API dyn_status dyn_context_create(dyn_module* module, const dyn_options* options, dyn_context** context);
DYN_API void dyn_context_release(dyn_context* context);
/* An input stays set until it is set again; null clears it. The context shares the value. */
DYN_API dyn_status dyn_context_set_input(dyn_context* context, int32_t index, dyn_value* value);
DYN_API dyn_status dyn_context_set_input_name(dyn_context* context, const char* name, dyn_value* value);
/* Output `index` is to be left in `memory` (the caller's, valid until the next bind or release; null
 * unbinds). When it does not fit the run fails with DYN_BAD_INPUT and the sizes. From the second run on the
 * tensor is made there when the program allows;
 * else it is copied once. */
DYN_API dyn_status dyn_context_bind_output(dyn_context* context, int32_t index, void* memory,
                                           size_t size_bytes);
DYN_API dyn_status dyn_context_run(dyn_context* context);
/* Runs any function of the module by name with the given arguments; results are read with
 * dyn_context_get_output. */
DYN_API dyn_status dyn_context_run_function(dyn_context* context, const char* name,
                                            dyn_value* const* arguments, int32_t argument_count);
DYN_API int32_t dyn_context_result_count(const dyn_context* context); /* of the last run */
DYN_API dyn_status dyn_context_get_output(dyn_context* context, int32_t index, dyn_value** value);
/* Ends the run in progress with DYN_CANCELLED as soon as the next jump, call or kernel is reached. Any
 * thread. Without a run in progress it does nothing. */
DYN_API void dyn_context_cancel(dyn_context* context);
/* `callback` is called at breakpoints and after DYN_TRAP_STEP; null takes it away. stepping != 0: stop before
 * the first instruction. */
DYN_API dyn_status dyn_context_set_trap(dyn_context* context, dyn_trap_callback callback, void* user,
                                        int32_t stepping);
/* enabled != 0 sets, 0 clears; function_index < 0 clears all. Positions are those of the disassembly. */
DYN_API dyn_status dyn_context_breakpoint(dyn_context* context, int32_t function_index, uint32_t position,
                                          int32_t enabled);
/* Inside the trap callback: a register of the function where the run stands. DYN_INVALID_ARGUMENT past the
 * last one, or when no run stands. An object register may hold none: *value is null. The value's elements may
 * change as soon as the run goes on. */
DYN_API dyn_status dyn_context_scalar_register(dyn_context* context, int32_t index, int64_t* value);
DYN_API dyn_status dyn_context_object_register(dyn_context* context, int32_t index, dyn_value** value);
/* Starts (and empties) or ends the recording of the following runs. */
DYN_API dyn_status dyn_context_profile(dyn_context* context, int32_t enabled);
/* format: "trace" (Chrome trace JSON), "json" or "csv" (table per kernel). Borrowed until the context's next
 * call. */
DYN_API const char* dyn_context_profile_text(dyn_context* context, const char* format);
/* A launch of a kernel or a call of a hand-written one in the program, and what runs did there since the
 * profile began. `place` is the user's, borrowed from the module. */
typedef struct dyn_progress {
  const char* place;
  uint64_t count, total_ns;
  int32_t is_latest; /* it runs, or was the last that ran */
} dyn_progress;
/* The first `capacity` rows in the order of the program; returns how many there are, 0 when the context never
 * recorded a profile. Any thread, as long as none calls dyn_context_profile. */
DYN_API int32_t dyn_context_progress(const dyn_context* context, dyn_progress* rows, int32_t capacity);
DYN_API dyn_status dyn_context_statistics(const dyn_context* context, dyn_statistics* statistics);
/* Of a rehearsal, for the runs that follow: how many positions of a padded batch its mask keeps, where the
 * program leaves out the others. -1, as in a new context: all of them, the most memory a run can take. */
DYN_API dyn_status dyn_context_rehearse_kept(dyn_context* context, int64_t positions);
/* Gives idle memory back to the system. */
DYN_API void dyn_context_trim(dyn_context* context);

/* --- values --- */
/* A tensor with a copy of `data` (may be null: zero-filled). size_bytes must match the shape. */
DYN_API dyn_status dyn_value_tensor(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                                    const void* data, size_t size_bytes, dyn_value** value);
/* A tensor over the caller's memory, never written by programs; `release(user, data)` is called when the last
 * holder lets go (on any thread; may be null: the memory then outlives every holder). */
DYN_API dyn_status dyn_value_borrow(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                                    const void* data, size_t size_bytes,
                                    void (*release)(void* user, const void* data), void* user,
                                    dyn_value** value);
/* A tensor with a copy of `data` and room for `room` rows along `axis` (room >= shape[axis]; no strings), for
 * what a program appends to and hands on, as a cache of keys and values: given as an input that the program
 * only joins with rows behind it along that axis, what comes out shares its memory and only the new rows are
 * written; where the room ends, or another run has appended to the same value, it moves to twice the room.
 * Values already handed out keep their rows. Given as any other input the run fails with DYN_UNSUPPORTED
 * where the elements do not lie side by side. */
DYN_API dyn_status dyn_value_growing(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                                     int32_t axis, int64_t room, const void* data, size_t size_bytes,
                                     dyn_value** value);
/* Distances between neighbours along each axis, in elements; `rank` entries are written. */
DYN_API dyn_status dyn_value_strides(const dyn_value* value, int64_t* strides);
/* The first element, wherever the others are: see dyn_value_strides. */
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
/* All elements side by side, row-major; null for strided tensors, whose elements are not, and for tensors
 * that a program has left on another device than the cpu. */
DYN_API const void* dyn_value_data(const dyn_value* value);
DYN_API size_t dyn_value_size_bytes(const dyn_value* value);
/* Element `index` of a string tensor, zero-terminated, borrowed; null when there is none. */
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
