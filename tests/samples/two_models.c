/* Two models in one program. Reads the inputs of both from files, writes the outputs' bytes; says how misuse
 * is answered. */
#include <bert.h>
#include <ssd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* bytes_of(const char* path, size_t size) {
  FILE* file = fopen(path, "rb");
  void* bytes = malloc(size);
  if (!file || fread(bytes, 1, size, file) != size) exit(10);
  fclose(file);
  return bytes;
}

static void write_bytes(const char* path, const void* bytes, size_t size) {
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) exit(11);
}

#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "line %d: %s (bert: %s; ssd: %s)\n", __LINE__, #condition, bert_last_error(), \
              ssd_last_error());                                                                    \
      exit(12);                                                                                     \
    }                                                                                               \
  } while (0)

static void run_bert(bert_model* model, int64_t batch, int64_t seq) {
  bert_dims dims = {batch, seq};
  size_t words = (size_t)(batch * seq);
  bert_inputs inputs = {bytes_of("input_ids.bin", 8 * words), bytes_of("attention_mask.bin", 8 * words)};
  bert_shapes shapes = {{0}};
  CHECK(bert_output_shapes(model, &dims, &shapes) == BERT_OK);
  CHECK(shapes.last_hidden_state[0] == batch && shapes.last_hidden_state[1] == seq);
  size_t size = 4 * words * (size_t)shapes.last_hidden_state[2];
  char* out = malloc(size + 64);
  memset(out, 0x5a, size + 64);
  bert_outputs outputs = {{(float*)out, size - 1}};
  CHECK(bert_run(model, &dims, &inputs, &outputs, NULL) == BERT_BAD_INPUT);
  CHECK(strstr(bert_last_error(), "output 0") != NULL);
  outputs.last_hidden_state.bytes = size;
  for (int again = 0; again < 3; again++)
    CHECK(bert_run(model, &dims, &inputs, &outputs, &shapes) == BERT_OK);
  for (size_t i = size; i < size + 64; i++) CHECK(out[i] == 0x5a);
  write_bytes("last_hidden_state.out", out, size);
  bert_dims wrong = {-1, seq};
  CHECK(bert_run(model, &wrong, &inputs, &outputs, NULL) == BERT_BAD_INPUT);
  CHECK(strstr(bert_last_error(), "batch") != NULL);
  CHECK(bert_run(model, &dims, NULL, &outputs, NULL) == BERT_INVALID_ARGUMENT);
  CHECK(bert_run(model, &dims, &(bert_inputs){NULL, NULL}, &outputs, NULL) == BERT_BAD_INPUT);
  CHECK(strstr(bert_last_error(), "input_ids") != NULL);
  CHECK(bert_run(NULL, &dims, &inputs, &outputs, NULL) == BERT_INVALID_ARGUMENT);
  int64_t largest = 0;
  uint64_t bytes = 0, more = 0;
  CHECK(bert_peak_bytes(model, &dims, &bytes) == BERT_OK && bytes > 0);
  CHECK(bert_largest(model, BERT_DIM_seq, bytes, &dims, &largest) == BERT_OK && largest >= seq);
  CHECK(bert_peak_bytes(model, &(bert_dims){batch, largest + 1}, &more) == BERT_OK && more > bytes);
  CHECK(bert_largest(model, 7, bytes, &dims, &largest) == BERT_INVALID_ARGUMENT);
  CHECK(bert_largest(model, BERT_DIM_seq, 1, &dims, &largest) == BERT_MEMORY_LIMIT);
}

/* In memory of the caller with exactly as many bytes as peak_bytes says, and none beside it is touched; a
 * byte less is an error. The outputs are those of a run on the heap. */
static void run_bounded(int64_t batch, int64_t seq) {
  bert_model* model;
  bert_dims dims = {batch, seq};
  uint64_t bytes;
  CHECK(bert_create(NULL, &model) == BERT_OK);
  CHECK(bert_peak_bytes(model, &dims, &bytes) == BERT_OK);
  bert_release(model);
  size_t words = (size_t)(batch * seq), size = 4 * 32 * words;
  int64_t *ids = calloc(words, 8), *mask = calloc(words, 8);
  for (size_t i = 0; i < words; i++) ids[i] = (int64_t)(i % 7), mask[i] = 1;
  char* memory = aligned_alloc(64, bytes + 128);
  float *out = malloc(size), *again = malloc(size);
  memset(memory, 0x5a, bytes + 128);
  bert_options options = {.memory = memory + 64, .memory_bytes = bytes};
  CHECK(bert_create(&options, &model) == BERT_OK);
  for (int i = 0; i < 3; i++)
    CHECK(bert_run(model, &dims, &(bert_inputs){ids, mask}, &(bert_outputs){{out, size}}, NULL) == BERT_OK);
  bert_release(model);
  for (size_t i = 0; i < 64; i++) CHECK(memory[i] == 0x5a && memory[64 + bytes + i] == 0x5a);
  options.memory_bytes = bytes - 1;
  CHECK(bert_create(&options, &model) == BERT_OK);
  CHECK(bert_run(model, &dims, &(bert_inputs){ids, mask}, &(bert_outputs){{again, size}}, NULL) ==
        BERT_MEMORY_LIMIT);
  bert_release(model);
  CHECK(bert_create(NULL, &model) == BERT_OK);
  CHECK(bert_run(model, &dims, &(bert_inputs){ids, mask}, &(bert_outputs){{again, size}}, NULL) == BERT_OK);
  CHECK(memcmp(out, again, size) == 0);
  bert_release(model);
  options.threads = 2;
  CHECK(bert_create(&options, &model) == BERT_UNSUPPORTED);
  options = (bert_options){.memory = memory + 1, .memory_bytes = bytes};
  CHECK(bert_create(&options, &model) == BERT_INVALID_ARGUMENT);
  free(ids), free(mask), free(out), free(again), free(memory);
}

static void run_ssd(ssd_model* model, int64_t h, int64_t w) {
  ssd_dims dims = {h, w};
  ssd_inputs inputs = {bytes_of("image.bin", (size_t)(4 * 3 * h * w))};
  static float boxes[4000], scores[1000];
  static int64_t classes[1000];
  ssd_outputs outputs = {{boxes, sizeof boxes}, {scores, sizeof scores}, {classes, sizeof classes}};
  ssd_shapes shapes;
  uint64_t bytes;
  CHECK(ssd_run(model, &dims, &inputs, &outputs, &shapes) == SSD_OK);
  CHECK(shapes.boxes[0] == shapes.scores[0] && shapes.scores[0] == shapes.classes[0] && shapes.boxes[1] == 4);
  write_bytes("boxes.out", boxes, 16 * (size_t)shapes.boxes[0]);
  write_bytes("scores.out", scores, 4 * (size_t)shapes.scores[0]);
  write_bytes("classes.out", classes, 8 * (size_t)shapes.classes[0]);
  CHECK(ssd_output_shapes(model, &dims, &shapes) ==
        SSD_UNSUPPORTED); /* how many boxes depends on the picture */
  CHECK(ssd_peak_bytes(model, &dims, &bytes) == SSD_UNSUPPORTED);
  CHECK(bert_last_error()[0] != 0); /* each model has an error of its own */
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  bert_model* bert = NULL;
  ssd_model *ssd = NULL, *second = NULL;
  CHECK(bert_create(NULL, &bert) == BERT_OK);
  CHECK(ssd_create(&(ssd_options){.threads = 2}, &ssd) == SSD_OK);
  CHECK(ssd_create(NULL, &second) == SSD_OK);
  run_bert(bert, atoll(argv[1]), atoll(argv[2]));
  run_bounded(1, 1);
  run_bounded(3, 17);
  run_bounded(2, 128);
  run_ssd(ssd, atoll(argv[3]), atoll(argv[4]));
  run_ssd(second, atoll(argv[3]), atoll(argv[4]));
  CHECK(bert_create(NULL, NULL) == BERT_INVALID_ARGUMENT);
  bert_release(bert);
  bert_release(NULL);
  ssd_release(ssd);
  ssd_release(second);
  return 0;
}
