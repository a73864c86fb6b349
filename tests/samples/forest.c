/* dyn_trees.h from plain C:   forest SENTENCES.dynpkg TWICE.dynpkg
 *
 * SENTENCES is samples/03_tree/sentences.dyn: its scores for trees that are given as arrays are those that
 * this program computes node by node. Then what is wrong with arrays, one fault at a time: the status, and
 * what the message says. TWICE looks at its tree besides encoding it, so that it needs values. Exit code 0:
 * all is as it should be. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/include/dyn_trees.h"

enum { kWords = 6, kState = 4, kMostNodes = 20000 };

static int faults = 0;
static float table[kWords][kState], weights[2 * kState][kState];

static void require(dyn_status status, const char* what) {
  if (status == DYN_OK) return;
  fprintf(stderr, "%s: %s\n", what, dyn_last_message());
  exit(1);
}

/* The same in every run; between -0.5 and 0.5. */
static float made(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 16777216.0f - 0.5f;
}

static dyn_value* tensor(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                         const void* data, size_t bytes) {
  dyn_value* value = NULL;
  require(dyn_value_tensor(context, dtype, rank, shape, data, bytes, &value), "dyn_value_tensor");
  return value;
}

static void give(dyn_context* context, const char* name, const int64_t shape[2], const float* data) {
  dyn_value* value = tensor(context, DYN_F32, 2, shape, data, (size_t)(shape[0] * shape[1]) * sizeof(float));
  require(dyn_context_set_input_name(context, name, value), name);
  dyn_value_release(value);
}

static dyn_context* open(const char* package, dyn_module** module) {
  const int64_t ofTable[2] = {kWords, kState}, ofWeights[2] = {2 * kState, kState};
  dyn_context* context = NULL;
  require(dyn_module_load_file(package, NULL, module), package);
  require(dyn_context_create(*module, NULL, &context), "dyn_context_create");
  give(context, "table", ofTable, &table[0][0]);
  give(context, "w", ofWeights, &weights[0][0]);
  return context;
}

/* Trees as a caller may hold them: Word is constructor 0, Phrase 1. */
typedef struct {
  int64_t count, childCount, wordCount;
  int32_t constructors[kMostNodes];
  int64_t starts[kMostNodes + 1], children[2 * kMostNodes], words[kMostNodes];
} Trees;

static int64_t word(Trees* t, int64_t number) {
  t->constructors[t->count] = 0;
  t->words[t->wordCount++] = number;
  t->starts[++t->count] = t->childCount;
  return t->count - 1;
}

static int64_t phrase(Trees* t, int64_t a, int64_t b) {
  t->constructors[t->count] = 1;
  t->children[t->childCount++] = a;
  t->children[t->childCount++] = b;
  t->starts[++t->count] = t->childCount;
  return t->count - 1;
}

static dyn_status set(dyn_context* context, const char* name, const Trees* t, const int64_t* roots,
                      int64_t rootCount) {
  dyn_value* words =
      tensor(context, DYN_I64, 1, &t->wordCount, t->words, (size_t)t->wordCount * sizeof(int64_t));
  dyn_forest forest;
  memset(&forest, 0, sizeof forest);
  forest.node_count = t->count;
  forest.constructors = t->constructors;
  forest.child_starts = t->starts;
  forest.children = t->children;
  forest.roots = roots;
  forest.root_count = rootCount;
  forest.fields = &words;
  forest.field_count = 1;
  const dyn_status status = dyn_context_set_forest_input(context, name, &forest);
  dyn_value_release(words); /* the forest holds it, where it was taken */
  return status;
}

/* Children stand before those that have them in the trees that are run. */
static float scoreOf(const Trees* t, int64_t root) {
  static float h[kMostNodes][kState];
  int64_t next = 0;
  for (int64_t i = 0; i <= root; ++i) {
    if (t->constructors[i] == 0) {
      memcpy(h[i], table[t->words[next++]], sizeof h[i]);
      continue;
    }
    const float *a = h[t->children[t->starts[i]]], *b = h[t->children[t->starts[i] + 1]];
    for (int c = 0; c < kState; ++c) {
      float sum = 0;
      for (int k = 0; k < kState; ++k) sum += a[k] * weights[k][c] + b[k] * weights[kState + k][c];
      h[i][c] = tanhf(sum);
    }
  }
  return h[root][0] + h[root][1] + h[root][2] + h[root][3];
}

static void runs(dyn_context* context, const char* what, const Trees* t, const int64_t* roots,
                 int64_t rootCount) {
  dyn_value* output = NULL;
  require(set(context, "trees", t, roots, rootCount), what);
  require(dyn_context_run(context), what);
  require(dyn_context_get_output(context, 0, &output), what);
  if (dyn_value_size_bytes(output) != (size_t)rootCount * sizeof(float)) {
    fprintf(stderr, "%s: not a score for each of %d trees\n", what, (int)rootCount);
    exit(1);
  }
  for (int64_t i = 0; i < rootCount; ++i) {
    const float wanted = scoreOf(t, roots[i]), score = ((const float*)dyn_value_data(output))[i];
    if (fabsf(score - wanted) <= 1e-5f * (1 + fabsf(wanted))) continue;
    fprintf(stderr, "%s: tree %d scores %g, not %g\n", what, (int)i, (double)score, (double)wanted);
    ++faults;
  }
  dyn_value_release(output);
}

static void fails(const char* what, dyn_status status, dyn_status wanted, const char* says) {
  if (status == wanted && strstr(dyn_last_message(), says)) return;
  fprintf(stderr, "%s: status %d, %s; wanted %d, %s\n", what, (int)status, dyn_last_message(), (int)wanted,
          says);
  ++faults;
}

static void start(Trees* t) { t->count = t->childCount = t->wordCount = t->starts[0] = 0; }

static void runTrees(dyn_context* context, Trees* t) {
  start(t);
  const int64_t alone = word(t, 3);
  runs(context, "a word", t, &alone, 1);

  start(t);
  const int64_t a = word(t, 0), b = word(t, 5), both = phrase(t, a, b), c = word(t, 2);
  const int64_t top = phrase(t, both, c), twice = phrase(t, both, both); /* `both` is one node */
  const int64_t roots[4] = {twice, top, c, top};
  runs(context, "shared nodes, a root below another, one twice", t, roots, 4);
  runs(context, "no tree", t, roots, 0);

  start(t);
  int64_t chain = word(t, 1);
  while (t->count + 2 < kMostNodes) chain = phrase(t, chain, word(t, t->count % kWords));
  runs(context, "a chain of 9999 phrases", t, &chain, 1);
}

static void refused(dyn_context* context, Trees* t) {
  start(t);
  const int64_t a = word(t, 0), b = word(t, 1), top = phrase(t, a, b);
  Trees* bad = malloc(sizeof *bad);
  if (!bad) exit(1);
#define BROKEN(what, change, says)     \
  memcpy(bad, t, sizeof *bad), change; \
  fails(what, set(context, "trees", bad, &top, 1), DYN_INVALID_ARGUMENT, says)
  BROKEN("a cycle", bad->children[1] = 2, "node 2 has child 2, which it is below itself: a cycle");
  BROKEN("a child that is not a node", bad->children[0] = 3, "node 2 has child 3, there are 3 nodes");
  BROKEN("a negative child", bad->children[0] = -1, "node 2 has child -1");
  BROKEN("too few children", (bad->starts[3] = 1), "node 2 has 1 children, its constructor has 2");
  BROKEN("a word with children", bad->constructors[2] = 0, "node 2 has 2 children, its constructor has 0");
  BROKEN("an unknown constructor", bad->constructors[1] = 2, "node 1 is of constructor 2");
  BROKEN("children that end before they begin", bad->starts[2] = -1, "node 1 has children that end");
  BROKEN("starts without 0", bad->starts[0] = 1, "child_starts does not begin with 0");
  BROKEN("a word too few", bad->wordCount = 1, "fields[0], of constructor 0, is i64[1], not i64[2]");
#undef BROKEN
  free(bad);
  const int64_t outside = 3;
  fails("a root that is not a node", set(context, "trees", t, &outside, 1), DYN_INVALID_ARGUMENT,
        "root 0 is node 3");
  fails("no such input", set(context, "tree", t, &top, 1), DYN_INVALID_ARGUMENT, "there is no input");
  fails("an input of another type", set(context, "w", t, &top, 1), DYN_INVALID_ARGUMENT,
        "there is no input \"w\" of a data type");
  fails("nothing", dyn_context_set_forest_input(context, "trees", NULL), DYN_INVALID_ARGUMENT, "is null");
  dyn_forest empty;
  memset(&empty, 0, sizeof empty);
  fails("no starts", dyn_context_set_forest_input(context, "trees", &empty), DYN_INVALID_ARGUMENT,
        "child_starts is null");
  /* What was refused left the input as it was, and a word out of the table ends the run alone. */
  runs(context, "after all these", t, &top, 1);
  t->words[1] = kWords;
  require(set(context, "trees", t, &top, 1), "a word that has no row");
  fails("a word that has no row", dyn_context_run(context), DYN_KERNEL_FAULT, "index 6 is out of range");
  t->words[1] = 1;
  runs(context, "after a run that failed", t, &top, 1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  uint32_t state = 1;
  for (int i = 0; i < kWords * kState; ++i) (&table[0][0])[i] = made(&state);
  for (int i = 0; i < 2 * kState * kState; ++i) (&weights[0][0])[i] = made(&state);
  Trees* trees = malloc(sizeof *trees);
  if (!trees) return 1;
  dyn_module *module = NULL, *other = NULL;
  dyn_context* context = open(argv[1], &module);
  runTrees(context, trees);
  refused(context, trees);
  dyn_context_release(context);
  dyn_module_release(module);

  dyn_context* values = open(argv[2], &other);
  start(trees);
  const int64_t one = word(trees, 0);
  fails("a program that looks at its trees", set(values, "trees", trees, &one, 1), DYN_UNSUPPORTED,
        "unsupported: input trees is not computed a level at a time");
  dyn_context_release(values);
  dyn_module_release(other);
  free(trees);
  if (faults == 0) printf("forest: as it should be\n");
  return faults == 0 ? 0 : 1;
}
