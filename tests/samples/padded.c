/* Sequences of different lengths given to padded programs, from plain C (dyn_ragged.h):
 *
 *   padded MASKED.dynpkg ROWS.dynpkg RECURRENT.dynpkg
 *
 * MASKED takes ids and mask [batch, seq] and returns [batch, seq, 8], ROWS takes x [steps, batch, 8] and
 * z [steps, batch], steps a multiple of 4 up to 16, and lengths [batch], and returns x + z, with 8 behind the
 * end of each sequence,
 * RECURRENT ids [batch, seq] and lengths. What the lists give is what the same program gives
 * for inputs that are padded by hand, at the positions that there are. Then what is wrong with a call, one
 * fault at a time: the status, and what the message says. Exit code 0: all is as it should be. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/include/dyn_ragged.h"

enum { kWidth = 8, kMost = 64 };

static int faults = 0;

static void require(dyn_status status, const char* what) {
  if (status == DYN_OK) return;
  fprintf(stderr, "%s: %s\n", what, dyn_last_message());
  exit(1);
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  ++faults;
}

static void expectFault(dyn_status actual, dyn_status status, const char* message) {
  if (actual == status && strstr(dyn_last_message(), message)) return;
  fprintf(stderr, "status %d, \"%s\": expected %d, \"%s\"\n", (int)actual, dyn_last_message(), (int)status,
          message);
  ++faults;
}

static dyn_context* open(const char* package, dyn_module** module) {
  dyn_context* context = NULL;
  require(dyn_module_load_file(package, NULL, module), package);
  require(dyn_context_create(*module, NULL, &context), "dyn_context_create");
  return context;
}

static dyn_value* tensor(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                         const void* data, size_t bytes) {
  dyn_value* value = NULL;
  require(dyn_value_tensor(context, dtype, rank, shape, data, bytes, &value), "dyn_value_tensor");
  return value;
}

static void give(dyn_context* context, const char* name, dyn_value* value) {
  require(dyn_context_set_input_name(context, name, value), name);
  dyn_value_release(value);
}

/* Ids of all sequences behind each other. */
static dyn_value* idsOf(dyn_context* context, const int64_t* lengths, int64_t batch) {
  int64_t ids[kMost], rows = 0, s;
  for (s = 0; s < batch; ++s) rows += lengths[s];
  for (s = 0; s < rows; ++s) ids[s] = (7 * s + 3) % 19 + 1;
  dyn_value* value = NULL;
  require(dyn_value_ragged(context, DYN_I64, 1, &rows, ids, (size_t)rows * sizeof(int64_t), lengths, batch,
                           &value),
          "dyn_value_ragged");
  return value;
}

/* And padded by hand, with what hides the padding. */
static void giveIds(dyn_context* context, const int64_t* lengths, int64_t batch, int masked) {
  int64_t ids[kMost] = {0}, mask[kMost] = {0}, shape[2], longest = 0, row = 0, s, i;
  for (s = 0; s < batch; ++s) longest = lengths[s] > longest ? lengths[s] : longest;
  for (s = 0; s < batch; ++s)
    for (i = 0; i < lengths[s]; ++i, ++row) {
      ids[s * longest + i] = (7 * row + 3) % 19 + 1;
      mask[s * longest + i] = 1;
    }
  shape[0] = batch;
  shape[1] = longest;
  const size_t bytes = (size_t)(batch * longest) * sizeof(int64_t);
  give(context, "ids", tensor(context, DYN_I64, 2, shape, ids, bytes));
  if (masked)
    give(context, "mask", tensor(context, DYN_I64, 2, shape, mask, bytes));
  else
    give(context, "lengths", tensor(context, DYN_I64, 1, shape, lengths, (size_t)batch * sizeof(int64_t)));
}

/* The last run's output as sequences: rows of `width`, equal to those of `padded` [batch, longest, width]. */
static void expectRows(dyn_context* context, const int64_t* lengths, int64_t batch, const dyn_value* padded,
                       int64_t width) {
  dyn_value *ragged = NULL, *rows = NULL;
  const int64_t* of = NULL;
  int64_t count = 0, row = 0, s, i, k;
  require(dyn_context_get_padded_output(context, 0, &ragged), "dyn_context_get_padded_output");
  require(dyn_value_ragged_parts(ragged, &rows, &of, &count), "dyn_value_ragged_parts");
  expect(count == batch && memcmp(of, lengths, (size_t)batch * sizeof(int64_t)) == 0, "other lengths");
  const float *actual = dyn_value_data(rows), *expected = dyn_value_data(padded);
  const int64_t longest = dyn_value_shape(padded)[1];
  for (s = 0; s < batch; ++s)
    for (i = 0; i < lengths[s]; ++i, ++row)
      for (k = 0; k < width; ++k)
        expect(fabsf(actual[row * width + k] - expected[(s * longest + i) * width + k]) < 1e-5f,
               "another row");
  expect(dyn_value_shape(rows)[0] == row && dyn_value_shape(rows)[1] == width, "another number of rows");
  dyn_value_release(rows);
  dyn_value_release(ragged);
}

static dyn_value* outputOf(dyn_context* context) {
  dyn_value* output = NULL;
  require(dyn_context_run(context), "dyn_context_run");
  require(dyn_context_get_output(context, 0, &output), "dyn_context_get_output");
  return output;
}

/* Ids with a mask, or with lengths, of some batches. */
static void compareIds(const char* package, int masked, int64_t width) {
  static const int64_t batches[4][4] = {{3, 5, 1, 2}, {7, 0, 0, 0}, {2, 2, 2, 2}, {1, 4, 0, 3}};
  static const int64_t counts[4] = {4, 1, 4, 4};
  dyn_module* module = NULL;
  dyn_context* context = open(package, &module);
  for (int k = 0; k < 4; ++k) {
    giveIds(context, batches[k], counts[k], masked);
    dyn_value* expected = outputOf(context);
    dyn_value* ids = idsOf(context, batches[k], counts[k]);
    require(dyn_context_set_padded_input(context, "ids", ids,
                                         k % 2    ? NULL
                                         : masked ? "mask"
                                                  : "lengths"),
            "ids");
    dyn_value_release(ids);
    require(dyn_context_run(context), "dyn_context_run");
    expectRows(context, batches[k], counts[k], expected, width);
    dyn_value_release(expected);
  }
  dyn_context_release(context);
  dyn_module_release(module);
}

static dyn_value* rowsOf(dyn_context* context, const int64_t* lengths, int64_t batch) {
  float rows[kMost * kWidth];
  int64_t shape[2] = {0, kWidth}, i;
  for (i = 0; i < batch; ++i) shape[0] += lengths[i];
  for (i = 0; i < shape[0] * kWidth; ++i) rows[i] = (float)i;
  dyn_value* value = NULL;
  require(dyn_value_ragged(context, DYN_F32, 2, shape, rows, (size_t)(shape[0] * kWidth) * sizeof(float),
                           lengths, batch, &value),
          "dyn_value_ragged");
  return value;
}

static dyn_value* onesOf(dyn_context* context, const int64_t* lengths, int64_t batch) {
  float ones[kMost];
  int64_t rows = 0, i;
  for (i = 0; i < batch; ++i) rows += lengths[i];
  for (i = 0; i < rows; ++i) ones[i] = 1;
  dyn_value* value = NULL;
  require(dyn_value_ragged(context, DYN_F32, 1, &rows, ones, (size_t)rows * sizeof(float), lengths, batch,
                           &value),
          "dyn_value_ragged");
  return value;
}

static void compareRows(const char* package) {
  static const int64_t lengths[3] = {4, 0, 5}, others[3] = {4, 1, 5}, tooLong[2] = {3, 17};
  dyn_module* module = NULL;
  dyn_context* context = open(package, &module);
  dyn_value *x = rowsOf(context, lengths, 3), *z = onesOf(context, lengths, 3), *output, *ragged = NULL,
            *rows = NULL;
  require(dyn_context_set_padded_input(context, "x", x, NULL), "x");
  require(dyn_context_set_padded_input(context, "z", z, NULL), "z");
  dyn_value_release(x);
  dyn_value_release(z);
  output = outputOf(context);
  const int64_t* shape = dyn_value_shape(output);
  expect(shape[0] == 8 && shape[1] == 3 && shape[2] == kWidth, "no multiple of 4");
  const float* all = dyn_value_data(output);
  expect(all[0] == 1 && all[2 * kWidth] == 4 * kWidth + 1, "sequences do not begin at step 0");
  expect(all[1 * kWidth] == 8 && all[(7 * 3 + 2) * kWidth] == 8, "what stands behind the end is not told so");
  const int64_t* of = NULL;
  int64_t count = 0, i;
  require(dyn_context_get_padded_output(context, 0, &ragged), "dyn_context_get_padded_output");
  require(dyn_value_ragged_parts(ragged, &rows, &of, &count), "dyn_value_ragged_parts");
  expect(count == 3 && dyn_value_shape(rows)[0] == 9 && of[2] == 5, "other sequences");
  for (i = 0; i < 9 * kWidth; ++i)
    expect(((const float*)dyn_value_data(rows))[i] == (float)(i + 1), "another row");
  dyn_value_release(rows);
  dyn_value_release(ragged);
  dyn_value_release(output);
  x = rowsOf(context, tooLong, 2);
  expectFault(dyn_context_set_padded_input(context, "x", x, NULL), DYN_INVALID_ARGUMENT,
              "input \"x\": sequence 1 has 17 positions, there is room for 16");
  dyn_value_release(x);
  require(dyn_context_run(context), "the sequences that were set before");
  z = onesOf(context, others, 3);
  require(dyn_context_set_padded_input(context, "z", z, NULL), "z");
  dyn_value_release(z);
  expectFault(dyn_context_run(context), DYN_BAD_INPUT,
              "inputs \"x\" and \"z\" were given sequences of other lengths than each other");
  dyn_context_release(context);
  dyn_module_release(module);
}

static void breakCalls(const char* package) {
  static const int64_t lengths[2] = {2, 3}, shape[2] = {5, kWidth};
  const float rows[5 * kWidth] = {0};
  const int64_t* of = NULL;
  int64_t parts = 0;
  dyn_module* module = NULL;
  dyn_context* context = open(package, &module);
  dyn_value *ids = idsOf(context, lengths, 2), *wide = NULL, *plain = NULL, *value = NULL;
  require(dyn_value_ragged(context, DYN_F32, 2, shape, rows, sizeof rows, lengths, 2, &wide), "wide");
  require(dyn_value_ragged_parts(ids, &plain, &of, &parts), "parts");
  expectFault(dyn_context_set_padded_input(NULL, "ids", ids, NULL), DYN_INVALID_ARGUMENT,
              "context or name is null");
  expectFault(dyn_context_set_padded_input(context, "words", ids, NULL), DYN_INVALID_ARGUMENT,
              "there is no input \"words\"");
  expectFault(dyn_context_set_padded_input(context, "ids", plain, NULL), DYN_INVALID_ARGUMENT,
              "not a ragged tensor");
  expectFault(dyn_context_set_padded_input(context, "ids", NULL, NULL), DYN_INVALID_ARGUMENT,
              "not a ragged tensor");
  expectFault(dyn_context_set_padded_input(context, "ids", ids, "masks"), DYN_INVALID_ARGUMENT,
              "there is no input \"masks\"");
  expectFault(
      dyn_context_set_padded_input(context, "ids", ids, "ids"), DYN_INVALID_ARGUMENT,
      "input \"ids\" i64[batch, seq] does not say how long the sequences of \"ids\" i64[batch, seq] are");
  expectFault(dyn_context_set_padded_input(context, "mask", ids, NULL), DYN_INVALID_ARGUMENT,
              "input \"mask\" i64[batch, seq] takes no sequences: no input says how long each is");
  expectFault(dyn_context_set_padded_input(context, "ids", wide, NULL), DYN_BAD_INPUT,
              "input \"ids\": expected i64[batch, seq], got f32[2,3,8]");
  expectFault(dyn_context_get_padded_output(context, 0, &value), DYN_UNSUPPORTED,
              "has the sequences of no input that was set as padded");
  /* Nothing has been set. */
  expectFault(dyn_context_run(context), DYN_INVALID_ARGUMENT, "input 0 \"ids\" is not set");
  dyn_value_release(ids);
  dyn_value_release(wide);
  dyn_value_release(plain);
  dyn_context_release(context);
  dyn_module_release(module);
}

int main(int count, char** arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: padded MASKED.dynpkg ROWS.dynpkg RECURRENT.dynpkg\n");
    return 2;
  }
  compareIds(arguments[1], 1, kWidth);
  compareRows(arguments[2]);
  compareIds(arguments[3], 0, 12);
  breakCalls(arguments[1]);
  if (faults) fprintf(stderr, "%d faults\n", faults);
  return faults ? 1 : 0;
}
