/* Predicts the shape that a model of one dim n gives for n = 3; prints its first size. compiler MODEL */
#include <dyn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  dyn_model_options options = {.size = sizeof options, .path = count > 1 ? arguments[1] : ""};
  const dyn_dim n = {"n", 3};
  dyn_model* model;
  dyn_prediction* prediction;
  if (dyn_model_open(&options, &model) != DYN_OK || dyn_model_predict(model, &n, 1, &prediction) != DYN_OK) {
    dyn_diagnostic said = {.size = sizeof said};
    dyn_diagnostic_get(0, &said);
    return fprintf(stderr, "compiler: %s\n", said.message), 1;
  }
  printf("%d\n", (int)dyn_prediction_output_shape(prediction, 0)[0]);
  dyn_prediction_release(prediction);
  dyn_model_release(model);
  return 0;
}
