/* Runs a compiled BERT at three lengths:   first bert.dynpkg
 *
 * One package serves all sizes: nothing is compiled here. Each status should be checked; this program checks
 * the run alone, to stay short. */
#include <stdint.h>
#include <stdio.h>

#include "dynvm.h"

static int64_t ids[128], ones[128];

int main(int argumentCount, char** arguments) {
  if (argumentCount != 2) return fprintf(stderr, "usage: first bert.dynpkg\n"), 2;
  dyn_module* module;
  dyn_context* context;
  dyn_module_load_file(arguments[1], NULL, &module);
  dyn_context_create(module, NULL, &context);
  for (int64_t i = 0; i < 128; ++i) ones[i] = 1;
  for (int64_t length = 8; length <= 128; length *= 4) {
    const int64_t shape[2] = {1, length};
    const size_t size = sizeof *ids * (size_t)length;
    dyn_value *value, *mask, *output;
    dyn_value_tensor(context, DYN_I64, 2, shape, ids, size, &value);
    dyn_value_tensor(context, DYN_I64, 2, shape, ones, size, &mask);
    dyn_context_set_input_name(context, "input_ids", value);
    dyn_context_set_input_name(context, "attention_mask", mask);
    if (dyn_context_run(context) != DYN_OK) return fprintf(stderr, "%s\n", dyn_last_message()), 1;
    dyn_context_get_output(context, 0, &output);
    const int64_t* of = dyn_value_shape(output);
    printf("%d positions: [%d, %d, %d]\n", (int)length, (int)of[0], (int)of[1], (int)of[2]);
    dyn_value_release(output);
    dyn_value_release(mask);
    dyn_value_release(value);
  }
  dyn_context_release(context);
  dyn_module_release(module);
  return 0;
}
