/* Lists of sequences for exported libraries: NAME_run_lists gives the rows that NAME_run gives of the padded
 * batch, and says what is wrong. Plain C, without any header but the models'. */
#include <hidden.h>
#include <lstm.h>
#include <math.h>
#include <rows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 64, kHidden = 8, kUnits = 12 };

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "line %d: %s (%s; %s; %s)\n", __LINE__, #condition, hidden_last_error(), \
              lstm_last_error(), rows_last_error());                                           \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

static const int64_t kBatches[5][4] = {{3, 5, 1, 2}, {7, 0, 0, 0}, {2, 2, 2, 2}, {1, 4, 0, 3}, {0, 0, 0, 0}};
static const int64_t kCounts[5] = {4, 1, 4, 4, 2};

/* Rows behind each other, and the same padded, with a mask. */
typedef struct batch {
  int64_t count, longest, sum, rows[kMost], ids[kMost], mask[kMost];
} batch;

static batch batchOf(const int64_t* lengths, int64_t count) {
  batch made;
  memset(&made, 0, sizeof made);
  made.count = count;
  for (int64_t s = 0; s < count; ++s) made.longest = lengths[s] > made.longest ? lengths[s] : made.longest;
  for (int64_t s = 0; s < count; ++s)
    for (int64_t i = 0; i < lengths[s]; ++i) {
      const int64_t id = (7 * made.sum + 3) % 19 + 1, at = s * made.longest + i;
      made.rows[made.sum++] = made.ids[at] = id;
      made.mask[at] = 1;
    }
  return made;
}

/* Of the padded result the rows that are there, one after the other. */
static int sameRows(const float* rows, const float* padded, const int64_t* lengths, const batch* of,
                    int width) {
  for (int64_t s = 0, row = 0; s < of->count; ++s)
    for (int64_t i = 0; i < lengths[s]; ++i, ++row)
      for (int k = 0; k < width; ++k)
        if (fabsf(rows[row * width + k] - padded[(s * of->longest + i) * width + k]) > 1e-5f) return 0;
  return 1;
}

/* Behind the rows nothing may be written. */
static int untouched(const float* rows, int64_t from, int64_t count) {
  for (int64_t i = from; i < count; ++i)
    if (rows[i] != 77) return 0;
  return 1;
}

static void compareHidden(const hidden_options* options) {
  hidden_model* model;
  CHECK(hidden_create(options, &model) == HIDDEN_OK);
  for (int k = 0; k < 5; ++k) {
    const batch of = batchOf(kBatches[k], kCounts[k]);
    const hidden_dims dims = {of.count, of.longest};
    float padded[kMost * kHidden], rows[kMost * kHidden + 1];
    hidden_shapes shapes = {{0}};
    CHECK(hidden_run(model, &dims, &(hidden_inputs){of.ids, of.mask},
                     &(hidden_outputs){{padded, sizeof padded}}, NULL) == HIDDEN_OK);
    for (int i = 0; i < kMost * kHidden + 1; ++i) rows[i] = 77;
    const hidden_lists lists = {{kBatches[k], of.count}};
    const size_t bytes = sizeof(float) * kHidden * (size_t)of.sum;
    CHECK(hidden_run_lists(model, &lists, NULL, &(hidden_inputs){of.rows, NULL},
                           &(hidden_outputs){{rows, bytes}}, &shapes) == HIDDEN_OK);
    CHECK(shapes.y[0] == of.count && shapes.y[1] == of.longest && shapes.y[2] == kHidden);
    CHECK(sameRows(rows, padded, kBatches[k], &of, kHidden));
    CHECK(untouched(rows, of.sum * kHidden, kMost * kHidden + 1));
    /* Without a list it is the padded run. */
    const hidden_lists none = {{NULL, 0}};
    float again[kMost * kHidden];
    CHECK(hidden_run_lists(model, &none, &dims, &(hidden_inputs){of.ids, of.mask},
                           &(hidden_outputs){{again, sizeof again}}, NULL) == HIDDEN_OK);
    CHECK(memcmp(again, padded, sizeof(float) * kHidden * (size_t)(of.count * of.longest)) == 0);
  }
  hidden_release(model);
}

static void compareLstm(void) {
  lstm_model* model;
  CHECK(lstm_create(NULL, &model) == LSTM_OK);
  for (int k = 0; k < 4; ++k) {
    const batch of = batchOf(kBatches[k], kCounts[k]);
    float padded[kMost * kUnits], rows[kMost * kUnits];
    CHECK(lstm_run(model, &(lstm_dims){of.count, of.longest}, &(lstm_inputs){of.ids, kBatches[k]},
                   &(lstm_outputs){{padded, sizeof padded}}, NULL) == LSTM_OK);
    const lstm_lists lists = {{kBatches[k], of.count}};
    CHECK(lstm_run_lists(model, &lists, NULL, &(lstm_inputs){of.rows, NULL},
                         &(lstm_outputs){{rows, sizeof rows}}, NULL) == LSTM_OK);
    CHECK(sameRows(rows, padded, kBatches[k], &of, kUnits));
  }
  lstm_release(model);
}

/* Steps first, a length that is filled up, two inputs of one list. */
static void compareRows(void) {
  static const int64_t lengths[3] = {4, 0, 5};
  float x[9 * 8], z[9], y[9 * 8];
  rows_model* model;
  rows_shapes shapes = {{0}};
  for (int i = 0; i < 9 * 8; ++i) x[i] = (float)i;
  for (int i = 0; i < 9; ++i) z[i] = 1;
  CHECK(rows_create(NULL, &model) == ROWS_OK);
  CHECK(rows_run_lists(model, &(rows_lists){{lengths, 3}}, NULL, &(rows_inputs){x, z, NULL},
                       &(rows_outputs){{y, sizeof y}}, &shapes) == ROWS_OK);
  CHECK(shapes.y[0] == 8 && shapes.y[1] == 3 && shapes.y[2] == 8);
  for (int i = 0; i < 9 * 8; ++i) CHECK(y[i] == (float)(i + 1));
  static const int64_t tooLong[2] = {3, 17};
  CHECK(rows_run_lists(model, &(rows_lists){{tooLong, 2}}, NULL, &(rows_inputs){x, z, NULL},
                       &(rows_outputs){{y, sizeof y}}, NULL) == ROWS_BAD_INPUT);
  CHECK(strstr(rows_last_error(), "sequence 1 has 17 positions, there is room for 16"));
  rows_release(model);
}

static void breakCalls(void) {
  static const int64_t lengths[2] = {2, 3}, negative[2] = {2, -3};
  const int64_t ids[5] = {1, 2, 3, 4, 5};
  float y[5 * kHidden];
  hidden_model* model;
  const hidden_inputs inputs = {ids, NULL};
  const hidden_outputs outputs = {{y, sizeof y}}, small = {{y, sizeof y - 1}};
  const hidden_lists lists = {{lengths, 2}};
  CHECK(hidden_create(NULL, &model) == HIDDEN_OK);
  CHECK(hidden_run_lists(NULL, &lists, NULL, &inputs, &outputs, NULL) == HIDDEN_INVALID_ARGUMENT);
  CHECK(hidden_run_lists(model, &lists, NULL, NULL, &outputs, NULL) == HIDDEN_INVALID_ARGUMENT);
  CHECK(hidden_run_lists(model, NULL, NULL, &inputs, &outputs, NULL) == HIDDEN_INVALID_ARGUMENT);
  CHECK(strstr(hidden_last_error(), "the dims are null"));
  CHECK(hidden_run_lists(model, &(hidden_lists){{negative, 2}}, NULL, &inputs, &outputs, NULL) ==
        HIDDEN_BAD_INPUT);
  CHECK(strstr(hidden_last_error(), "list mask: a length is -3"));
  CHECK(hidden_run_lists(model, &(hidden_lists){{lengths, -1}}, NULL, &inputs, &outputs, NULL) ==
        HIDDEN_BAD_INPUT);
  CHECK(hidden_run_lists(model, &lists, NULL, &(hidden_inputs){NULL, NULL}, &outputs, NULL) ==
        HIDDEN_BAD_INPUT);
  CHECK(strstr(hidden_last_error(), "input ids is null"));
  CHECK(hidden_run_lists(model, &lists, NULL, &inputs, &small, NULL) == HIDDEN_BAD_INPUT);
  CHECK(strstr(hidden_last_error(), "output 0 needs 160 bytes, there is room for 159"));
  CHECK(hidden_run_lists(model, &lists, NULL, &inputs, &outputs, NULL) == HIDDEN_OK);
  hidden_release(model);
}

int main(void) {
  static _Alignas(64) char memory[1 << 20];
  compareHidden(NULL);
  compareHidden(&(hidden_options){1, memory, sizeof memory});
  compareLstm();
  compareRows();
  breakCalls();
  return 0;
}
