/* Runs a Tree-LSTM over a file of trees, in two forms, and compares them:   trees RECURSION.dynpkg
 * LOOP.dynpkg TREES.txt
 *
 * A line of the file is a tree: for each node, in post-order, the number of the node above it, -1 for the
 * root; `#` starts a comment. The words at the leaves are made up, the same for every run. Each package is
 * loaded once: no tree compiles anything. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dynvm.h"

enum { kWord = 12, kState = 8, kMostNodes = 1 << 20, kForms = 2 };

static void require(dyn_status status, const char* what) {
  if (status == DYN_OK) return;
  fprintf(stderr, "%s: %s\n", what, dyn_last_message());
  exit(1);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A tree as the models take it: leaves are numbered first, then the inner nodes. */
typedef struct {
  int64_t leaves, inner;
  float* words;          /* [leaves, kWord] */
  int64_t *left, *right; /* [inner] */
} Tree;

/* Makes room for trees of up to kMostNodes nodes. */
static Tree newTree(void) {
  Tree tree = {0, 0, malloc(sizeof(float) * kWord * kMostNodes), malloc(sizeof(int64_t) * kMostNodes),
               malloc(sizeof(int64_t) * kMostNodes)};
  if (!tree.words || !tree.left || !tree.right) exit((fprintf(stderr, "no memory\n"), 1));
  return tree;
}

/* 0 when the parents are no binary tree in post-order. */
static int buildTree(const int64_t* parents, int64_t count, Tree* tree) {
  static int64_t first[kMostNodes], second[kMostNodes], number[kMostNodes];
  if (count == 0 || parents[count - 1] != -1) return 0;
  for (int64_t i = 0; i < count; ++i) first[i] = second[i] = -1;
  for (int64_t i = 0; i + 1 < count; ++i) {
    const int64_t above = parents[i];
    if (above <= i || above >= count || second[above] >= 0) return 0;
    if (first[above] < 0)
      first[above] = i;
    else
      second[above] = i;
  }
  tree->leaves = tree->inner = 0;
  for (int64_t i = 0; i < count; ++i)
    if (first[i] < 0) number[i] = tree->leaves++;
  for (int64_t i = 0; i < count; ++i) {
    if (first[i] < 0) continue;
    if (second[i] < 0) return 0;
    tree->left[tree->inner] = number[first[i]];
    tree->right[tree->inner] = number[second[i]];
    number[i] = tree->leaves + tree->inner++;
  }
  uint32_t state = 1;
  for (int64_t i = 0; i < tree->leaves * kWord; ++i) {
    state = state * 1664525u + 1013904223u;
    tree->words[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
  }
  return 1;
}

typedef struct {
  dyn_module* module;
  dyn_context* context;
  double time;
} Form;

static void input(dyn_context* context, int32_t index, int32_t dtype, int32_t rank, const int64_t* shape,
                  void* data, size_t bytes) {
  dyn_value* value;
  require(dyn_value_borrow(context, dtype, rank, shape, data, bytes, NULL, NULL, &value), "input");
  require(dyn_context_set_input(context, index, value), "input");
  dyn_value_release(value);
}

/* The states of all nodes: [nodes, kState]. The caller releases it. */
static dyn_value* states(Form* form, const Tree* tree) {
  const int64_t words[2] = {tree->leaves, kWord}, inner[1] = {tree->inner};
  const size_t innerBytes = sizeof(int64_t) * (size_t)tree->inner;
  dyn_value* result;
  const double start = seconds();
  input(form->context, 0, DYN_F32, 2, words, tree->words, sizeof(float) * kWord * (size_t)tree->leaves);
  input(form->context, 1, DYN_I64, 1, inner, tree->left, innerBytes);
  input(form->context, 2, DYN_I64, 1, inner, tree->right, innerBytes);
  require(dyn_context_run(form->context), "run");
  require(dyn_context_get_output(form->context, 0, &result), "output");
  form->time += seconds() - start;
  return result;
}

/* The line without comment as numbers; how many. */
static int64_t readLine(char* line, int64_t* numbers) {
  int64_t count = 0;
  line[strcspn(line, "#\n")] = 0;
  for (char* end; count < kMostNodes; line = end) {
    const long long value = strtoll(line, &end, 10);
    if (end == line) break;
    numbers[count++] = value;
  }
  return count;
}

int main(int argumentCount, char** arguments) {
  static int64_t parents[kMostNodes];
  if (argumentCount != 4) return fprintf(stderr, "usage: trees RECURSION.dynpkg LOOP.dynpkg TREES.txt\n"), 2;
  FILE* file = fopen(arguments[3], "r");
  if (!file) return fprintf(stderr, "%s cannot be read\n", arguments[3]), 1;
  Form forms[kForms];
  for (int f = 0; f < kForms; ++f) {
    require(dyn_module_load_file(arguments[1 + f], NULL, &forms[f].module), arguments[1 + f]);
    require(dyn_context_create(forms[f].module, NULL, &forms[f].context), "context");
    forms[f].time = 0;
  }
  Tree tree = newTree();
  char* line = NULL;
  size_t room = 0;
  int64_t trees = 0, nodes = 0, lines = 0, wrong = 0;
  double largest = 0;
  while (getline(&line, &room, file) >= 0) {
    ++lines;
    const int64_t count = readLine(line, parents);
    if (count == 0) continue;
    if (!buildTree(parents, count, &tree))
      return fprintf(stderr, "%s:%lld: no binary tree in post-order\n", arguments[3], (long long)lines), 1;
    dyn_value* found[kForms];
    for (int f = 0; f < kForms; ++f) found[f] = states(&forms[f], &tree);
    const float *a = dyn_value_data(found[0]), *b = dyn_value_data(found[1]);
    for (int f = 0; f < kForms; ++f)
      if (dyn_value_shape(found[f])[0] != count)
        return fprintf(stderr, "%s:%lld: a form gives other nodes\n", arguments[3], (long long)lines), 1;
    for (int64_t i = 0; i < count * kState; ++i) {
      const double difference = fabs((double)a[i] - (double)b[i]);
      if (difference > largest) largest = difference;
      wrong += !(difference <= 1e-5); /* also when it is no number */
    }
    for (int f = 0; f < kForms; ++f) dyn_value_release(found[f]);
    ++trees;
    nodes += count;
  }
  fclose(file);
  printf("%lld trees of %lld nodes, largest difference %.1e\n", (long long)trees, (long long)nodes, largest);
  if (trees > 0)
    fprintf(stderr, "recursion %.1f us a tree, loop %.1f us a tree\n", 1e6 * forms[0].time / (double)trees,
            1e6 * forms[1].time / (double)trees);
  for (int f = 0; f < kForms; ++f) {
    dyn_context_release(forms[f].context);
    dyn_module_release(forms[f].module);
  }
  free(tree.words);
  free(tree.left);
  free(tree.right);
  free(line);
  return wrong == 0 && trees > 0 ? 0 : 1;
}
