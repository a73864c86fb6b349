/* The entry points of an exported library, before they get the model's name: dyn_model_run becomes bert_run,
 * and the structures here become those of the model's header, whose members are named
 * (compiler/driver/library_header.h). Everything else of the runtime is hidden in the library, so that
 * several lie in one program.
 *
 * Sizes are in the order of callSizes() (vm/isa/call_sizes.h). Shapes of outputs stand one behind the other,
 * each with one entry for each axis; a scalar has one entry, which is 1. */
#ifndef DYN_MODEL_H
#define DYN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dyn_model dyn_model;

typedef struct dyn_model_options {
  int32_t threads;     /* 0: one */
  void* memory;        /* all tensors live here; null: memory is asked for when it is needed */
  size_t memory_bytes; /* of `memory`; without it the most that a run may take, 0: no limit */
} dyn_model_options;

typedef struct dyn_model_output {
  void* data; /* null: the output is not wanted */
  size_t bytes;
} dyn_model_output;

/* Sequences that lie behind each other, without padding: how long each is. */
typedef struct dyn_model_list {
  const int64_t* lengths; /* null: no list, the inputs are padded */
  int64_t count;
} dyn_model_list;

int32_t dyn_model_create(const dyn_model_options* options, dyn_model** model);
void dyn_model_release(dyn_model* model);
int32_t dyn_model_output_shapes(dyn_model* model, const int64_t* sizes, int64_t* shapes);
int32_t dyn_model_peak_bytes(dyn_model* model, const int64_t* sizes, uint64_t* bytes);
int32_t dyn_model_largest(dyn_model* model, int32_t size, uint64_t bytes, const int64_t* sizes,
                          int64_t* largest);
int32_t dyn_model_run(dyn_model* model, const int64_t* sizes, const void* const* inputs,
                      const dyn_model_output* outputs, int64_t* shapes);
/* `lists`: in the order of paddedLists() (vm/isa/padded_ports.h). Inputs of a list that is given are rows,
 * the one that says how long they are is made; outputs with its sequences are rows. Their sizes are not
 * read. */
int32_t dyn_model_run_lists(dyn_model* model, const dyn_model_list* lists, const int64_t* sizes,
                            const void* const* inputs, const dyn_model_output* outputs, int64_t* shapes);
void dyn_model_cancel(dyn_model* model);
const char* dyn_model_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
