/* The entry points of an exported library without heap; they get the model's name when it is linked. */
#include "vm/freestanding/state.h"

extern const DynFreestandingProgram dyn_freestanding_program;

int32_t dyn_model_create(void* memory, size_t bytes, DynFreestanding** model) {
  return dyn_freestanding_create(&dyn_freestanding_program, memory, bytes, model);
}
int32_t dyn_model_run(DynFreestanding* model, const int64_t* sizes, const void* const* inputs,
                      const DynFreestandingOutput* outputs, int64_t* shapes) {
  return dyn_freestanding_run(model, sizes, inputs, outputs, shapes);
}
int32_t dyn_model_output_shapes(DynFreestanding* model, const int64_t* sizes, int64_t* shapes) {
  return dyn_freestanding_rehearse(model, sizes, shapes, 0, 0);
}
int32_t dyn_model_peak_bytes(DynFreestanding* model, const int64_t* sizes, uint64_t* bytes) {
  if (!bytes) return DYN_INVALID_ARGUMENT;
  const int32_t status = dyn_freestanding_rehearse(model, sizes, 0, 0, 0);
  if (status == DYN_OK) *bytes = dyn_freestanding_peak_bytes(model);
  return status;
}
void dyn_model_cancel(DynFreestanding* model) { dyn_freestanding_cancel(model); }
const char* dyn_model_last_error(const DynFreestanding* model) { return dyn_freestanding_message(model); }
