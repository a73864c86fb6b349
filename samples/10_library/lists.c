/* Texts of different lengths, one behind the other: no padding to make, and none in the results. */
#include <bert.h>
#include <stdio.h>
#include <stdlib.h>

static void check(bert_status status) {
  if (status == BERT_OK) return;
  fprintf(stderr, "%s\n", bert_last_error());
  exit(1);
}

int main(void) {
  const int64_t lengths[3] = {4, 1, 2}, words[7] = {3, 1, 4, 1, 5, 2, 6};
  bert_model* model;
  bert_shapes shapes;
  check(bert_create(NULL, &model));
  check(bert_output_shapes(model, &(bert_dims){3, 4}, &shapes));
  const int64_t width = shapes.last_hidden_state[2];
  const size_t size = sizeof(float) * 7 * (size_t)width;
  float* hidden = malloc(size);
  /* The list belongs to the mask, which is made of it; nothing else says how long the texts are. */
  check(bert_run_lists(model, &(bert_lists){{lengths, 3}}, NULL, &(bert_inputs){words, NULL},
                       &(bert_outputs){{hidden, size}}, NULL));
  for (int text = 0, row = 0; text < 3; ++text)
    for (int64_t word = 0; word < lengths[text]; ++word, ++row)
      printf("text %d, word %lld: %.6f ...\n", text, (long long)word, hidden[row * width]);
  bert_release(model);
  free(hidden);
  return 0;
}
