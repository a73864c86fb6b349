/* Reads an ONNX model, compiles it once, runs three shapes, and asks why a dim is what it is:
 *   first bert.onnx
 * Each status should be checked; this program checks what depends on its argument, to stay short. */
#include <stdio.h>

#include "dyn.h"

static int64_t ids[128], ones[128];

int main(int argumentCount, char** arguments) {
  const dyn_model_options options = {.size = sizeof options, .path = argumentCount > 1 ? arguments[1] : ""};
  dyn_model* model;
  dyn_module* module;
  if (dyn_model_open(&options, &model) != DYN_OK || dyn_model_compile(model, &module) != DYN_OK) {
    dyn_diagnostic fault = {.size = sizeof fault};
    dyn_diagnostic_get(0, &fault);
    return fprintf(stderr, "%s: %s: %s\n", fault.id, fault.place, fault.message), 1;
  }
  dyn_context* context;
  dyn_context_create(module, NULL, &context);
  for (int64_t i = 0; i < 128; ++i) ones[i] = 1;
  for (int64_t length = 8; length <= 128; length *= 4) {
    const int64_t shape[2] = {1, length};
    dyn_value *value, *mask, *output;
    dyn_value_tensor(context, DYN_I64, 2, shape, ids, sizeof *ids * (size_t)length, &value);
    dyn_value_tensor(context, DYN_I64, 2, shape, ones, sizeof *ones * (size_t)length, &mask);
    dyn_context_set_input(context, 0, value), dyn_value_release(value);
    dyn_context_set_input(context, 1, mask), dyn_value_release(mask);
    if (dyn_context_run(context) != DYN_OK) return fprintf(stderr, "%s\n", dyn_last_message()), 1;
    dyn_context_get_output(context, 0, &output);
    printf("%d positions: %d numbers each\n", (int)length, (int)dyn_value_shape(output)[2]);
    dyn_value_release(output);
  }
  const char* answer;
  if (dyn_model_command_text(model, "why last_hidden_state.1", &answer) == DYN_OK) fputs(answer, stdout);
  return dyn_context_release(context), dyn_module_release(module), dyn_model_release(model), 0;
}
