/* The entry points of an exported library without heap; they get the model's name when it is linked. */
#include "vm/freestanding/state.h"

extern const DynFixedProgram dyn_fixed_program;

int32_t dyn_model_create(void* memory, size_t bytes, DynFixed** model) {
  return dyn_fixed_create(&dyn_fixed_program, memory, bytes, model);
}
int32_t dyn_model_run(DynFixed* model, const int64_t* sizes, const void* const* inputs,
                      const DynFixedOutput* outputs, int64_t* shapes) {
  return dyn_fixed_run(model, sizes, inputs, outputs, shapes);
}
int32_t dyn_model_output_shapes(DynFixed* model, const int64_t* sizes, int64_t* shapes) {
  return dyn_fixed_rehearse(model, sizes, shapes, 0, 0);
}
int32_t dyn_model_peak_bytes(DynFixed* model, const int64_t* sizes, uint64_t* bytes) {
  if (!bytes) return DYN_INVALID_ARGUMENT;
  const int32_t status = dyn_fixed_rehearse(model, sizes, 0, 0, 0);
  if (status == DYN_OK) *bytes = dyn_fixed_peak_bytes(model);
  return status;
}
void dyn_model_cancel(DynFixed* model) { dyn_fixed_cancel(model); }
const char* dyn_model_last_error(const DynFixed* model) { return dyn_fixed_message(model); }
