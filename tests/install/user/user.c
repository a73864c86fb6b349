/* Runs a package of one f32 vector; prints the sum of its first output. user PACKAGE */
#include <dynvm.h>
#include <stdio.h>

int main(int count, char** arguments) {
  dyn_module* module;
  dyn_context* context;
  dyn_value *input, *output;
  const float data[3] = {1, 2, 3};
  const int64_t shape[1] = {3};
  if (count != 2 || dyn_module_load_file(arguments[1], NULL, &module) != DYN_OK ||
      dyn_context_create(module, NULL, &context) != DYN_OK ||
      dyn_value_tensor(context, DYN_F32, 1, shape, data, sizeof data, &input) != DYN_OK ||
      dyn_context_set_input(context, 0, input) != DYN_OK || dyn_context_run(context) != DYN_OK ||
      dyn_context_get_output(context, 0, &output) != DYN_OK) {
    fprintf(stderr, "user: %s\n", dyn_last_message());
    return 1;
  }
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += ((const float*)dyn_value_data(output))[i];
  printf("%g\n", sum);
  dyn_value_release(output);
  dyn_value_release(input);
  dyn_context_release(context);
  dyn_module_release(module);
  return 0;
}
