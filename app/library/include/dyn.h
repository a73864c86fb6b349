/* dyn.h: read a model, compile it, ask about it. The C API of the compiler, libdyn.so. What it compiles runs
 * by dynvm.h, whose functions are in libdyn.so, too: a program links one of the two libraries, not both.
 *
 * Example (error handling left out):
 *   dyn_model_options options = {.size = sizeof options, .path = "bert.onnx"};
 *   dyn_model* model;  dyn_model_open(&options, &model);
 *   dyn_module* module;  dyn_model_compile(model, &module);
 *   dyn_context* context;  dyn_context_create(module, NULL, &context);   // from here on as in dynvm.h
 *   const char* json;  dyn_model_command(model, "why last_hidden_state.1", &json);
 *   dyn_model_release(model);                                            // the module lives on
 *
 * Threads: models are independent of each other. Calls that take a model belong to one thread at a time,
 * except dyn_model_cancel, which any thread may call while the model exists. Callbacks are called on a
 * thread of the model, one at a time, while a call waits; they may call dyn_model_cancel and nothing else
 * of the model. Ownership: each handle is the caller's, who releases it. Texts are borrowed; each function
 * says until when. Errors: a call that can fail returns a dyn_status; dyn_diagnostic_get() then tells what
 * is wrong, where, and what to do. A failed call leaves its outputs null and the model as it was. Nothing
 * aborts, prints or throws. Versions: a struct begins with its size, set by the caller; members are only
 * ever added at its end. */
#ifndef DYN_H
#define DYN_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DYN_LIBRARY_ABI_VERSION 1

typedef struct dyn_model dyn_model;
typedef struct dyn_prediction dyn_prediction;

/* An option, by its name in `:set`, as `--NAME` of the batch tool: {"threads", "2"}, {"device", "cuda"},
 * {"cache-dir", "none"}, {"math", "bf16"}, {"padded-results", "zero"}. */
typedef struct dyn_option {
  const char* name;
  const char* value; /* of a switch: "" */
} dyn_option;

typedef struct dyn_model_options {
  size_t size;      /* sizeof(dyn_model_options) */
  const char* path; /* .onnx, .dyn or .dynpkg; null: `bytes` */
  const void* bytes;
  size_t byte_count; /* copied; no file or folder is made, and files beside the model have no place */
  const char* name;  /* of the bytes: says their form by its ending, and stands in diagnostics */
  /* Beside those of dyn_option: "dim" ("seq=1..512", "seq=2*n", "n<=m"; repeatable), "static" (a switch). */
  const dyn_option* options;
  size_t option_count;
  void* user; /* given to the callbacks */
  void (*log)(void* user, const char* line);
  void (*progress)(void* user, const char* what, double fraction); /* fraction: -1 where nobody knows */
} dyn_model_options;

/* An input or output. Borrowed from the model, until it is released. */
typedef struct dyn_port {
  size_t size; /* sizeof(dyn_port), set by the caller */
  const char* name;
  const char* kind; /* "tensor", "list", "optional", ... */
  const char* type; /* "Tensor[(batch, seq), i64]" */
  int32_t dtype;    /* dyn_dtype; -1 unless a tensor */
  int32_t rank;     /* -1: no tensor, or of any rank */
} dyn_port;

typedef enum dyn_severity DYN_OF_INT {
  DYN_SEVERITY_ERROR,
  DYN_SEVERITY_WARNING,
  DYN_SEVERITY_NOTE
} dyn_severity;

typedef struct dyn_diagnostic {
  size_t size; /* sizeof(dyn_diagnostic), set by the caller */
  dyn_severity severity;
  const char* id;      /* "E0203": stable; the command "explain E0203" says more */
  const char* message; /* one sentence */
  const char* place;   /* "model.onnx: node /layer.0/MatMul", "lesson.dyn:3:14"; "" where there is none */
  const char* file;    /* of the place, and so on; "" and 0: none */
  const char* node;
  uint32_t line, column;
  const char* notes; /* what is known and what to do, a line each */
  const char* op;    /* the operator concerned, or "" */
} dyn_diagnostic;

/* --- library --- */
DYN_API int32_t dyn_library_abi_version(void);
/* What this thread's latest call of a function of this header said: errors first, then warnings. Texts are
 * borrowed until this thread's next such call. DYN_INVALID_ARGUMENT: there is no such diagnostic. */
DYN_API int32_t dyn_diagnostic_count(void);
DYN_API dyn_status dyn_diagnostic_get(int32_t index, dyn_diagnostic* diagnostic);

/* --- models --- */
/* Reads and checks a model. It compiles nothing yet. */
DYN_API dyn_status dyn_model_open(const dyn_model_options* options, dyn_model** model);
DYN_API void dyn_model_release(dyn_model* model); /* null: nothing */
/* -1: model is null. */
DYN_API int32_t dyn_model_input_count(const dyn_model* model);
DYN_API int32_t dyn_model_output_count(const dyn_model* model);
DYN_API dyn_status dyn_model_input(dyn_model* model, int32_t index, dyn_port* port);
/* Infers types when they are first asked for. */
DYN_API dyn_status dyn_model_output(dyn_model* model, int32_t index, dyn_port* port);
/* A dim of an input or output; texts are borrowed from the model. */
DYN_API dyn_status dyn_model_input_dim(dyn_model* model, int32_t index, int32_t axis, dyn_contract_dim* dim);
DYN_API dyn_status dyn_model_output_dim(dyn_model* model, int32_t index, int32_t axis, dyn_contract_dim* dim);

/* Compiles what is not compiled yet. The module is the caller's and lives on without the model. */
DYN_API dyn_status dyn_model_compile(dyn_model* model, dyn_module** module);
/* Writes the model to a file; `options` are those of the command `export`: {"dim", "seq=1..512"},
 * {"interpret", ""}. kind: "package", "exe", "static", "shared" or "image". */
DYN_API dyn_status dyn_model_export(dyn_model* model, const char* kind, const char* path,
                                    const dyn_option* options, size_t option_count);
/* Writes its graph: as an ONNX model to NAME.onnx, as text to NAME.dyn. Options of `save`: {"pass", "fold"},
 * {"external", ""}. */
DYN_API dyn_status dyn_model_save(dyn_model* model, const char* path, const dyn_option* options,
                                  size_t option_count);
/* Measures versions of its operations; options of `tune`: {"dim", "seq=128"}, {"seconds", "10"}. What is
 * found counts for compilations from then on: the option "tuning" says where it is kept. */
DYN_API dyn_status dyn_model_tune(dyn_model* model, const dyn_option* options, size_t option_count);
/* Any command of the shell (docs/commands.md) but load and reload, with or without its colon. The answer
 * is one JSON document, as the batch tool prints it; of a command that fails it has "error". Null where
 * the line is no command. Borrowed until the model's next command. */
DYN_API dyn_status dyn_model_command(dyn_model* model, const char* line, const char** json);
/* The same for people, as the shell prints it; "" when it fails. */
DYN_API dyn_status dyn_model_command_text(dyn_model* model, const char* line, const char** text);
/* Ends the call that is under way with DYN_CANCELLED. Any thread. Without one it does nothing. */
DYN_API void dyn_model_cancel(dyn_model* model);

/* --- before a run --- */
typedef struct dyn_dim {
  const char* name;
  int64_t value;
} dyn_dim;
typedef struct dyn_check {
  size_t size;      /* sizeof(dyn_check), set by the caller */
  const char* name; /* "check0": the command "why check0" explains it; "" of a declared range */
  const char* text; /* "k must equal m: matmul at node /out/MatMul" */
  int32_t fails;    /* nonzero: a run of these sizes ends there */
} dyn_check;
/* What a run of these sizes will be, without running it. Errors: dims that are unknown or missing. */
DYN_API dyn_status dyn_model_predict(dyn_model* model, const dyn_dim* dims, size_t dim_count,
                                     dyn_prediction** prediction);
DYN_API void dyn_prediction_release(dyn_prediction* prediction); /* null: nothing */
/* Highest use of memory of a first run, as dyn_statistics.peak_bytes counts it; -1: dyn_prediction_refused()
 * says why there is none. */
DYN_API int64_t dyn_prediction_peak_bytes(const dyn_prediction* prediction);
/* Why there is no peak: sizes that the model does not take, or memory that depends on values; else "". */
DYN_API const char* dyn_prediction_refused(const dyn_prediction* prediction);
/* The shape of an output; -1 where the run decides. Borrowed from the prediction. Null: no tensor. */
DYN_API int32_t dyn_prediction_output_rank(const dyn_prediction* prediction, int32_t index);
DYN_API const int64_t* dyn_prediction_output_shape(const dyn_prediction* prediction, int32_t index);
/* The tests of sizes that a run makes; those that fail come first. */
DYN_API int32_t dyn_prediction_check_count(const dyn_prediction* prediction);
DYN_API dyn_status dyn_prediction_check(const dyn_prediction* prediction, int32_t index, dyn_check* check);

#ifdef __cplusplus
}
#endif
#endif
