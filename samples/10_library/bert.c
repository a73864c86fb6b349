/* A BERT as a library of its own: cc needs its header and libbert.a, nothing else of Dyn. */
#include <bert.h>
#include <stdio.h>
#include <stdlib.h>

static void check(bert_status status) {
  if (status == BERT_OK) return;
  fprintf(stderr, "%s\n", bert_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  bert_dims dims = {argc > 1 ? atoll(argv[1]) : 2, argc > 2 ? atoll(argv[2]) : 5};
  bert_model* model;
  bert_shapes shapes;
  uint64_t bytes;
  int64_t longest, count = dims.batch * dims.seq;
  check(bert_create(NULL, &model));
  check(bert_output_shapes(model, &dims, &shapes));
  check(bert_peak_bytes(model, &dims, &bytes));
  check(bert_largest(model, BERT_DIM_seq, 1 << 20, &dims, &longest));
  printf("%lld bytes; within 1 MiB: seq up to %lld\n", (long long)bytes, (long long)longest);

  /* The numbers of the words, and 1 for each that counts. */
  int64_t* words = calloc((size_t)count, sizeof *words);
  int64_t* counts = calloc((size_t)count, sizeof *counts);
  for (int64_t i = 0; i < count; i++) words[i] = i % 7, counts[i] = 1;
  size_t size = sizeof(float) * (size_t)(count * shapes.last_hidden_state[2]);
  float* hidden = malloc(size);
  check(bert_run(model, &dims, &(bert_inputs){words, counts}, &(bert_outputs){{hidden, size}}, &shapes));
  for (size_t i = 0; i < size / sizeof(float); i++) printf("%.9g\n", hidden[i]);
  bert_release(model);
  free(words), free(counts), free(hidden);
  return 0;
}
