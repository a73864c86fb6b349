/* Says what kind of content the files of a folder have:   file_kinds magika.dynpkg labels.txt FOLDER
 *
 * All files of the folder are one batch: its size is known only when the folder has been read, and the
 * compiled model does not care. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dynvm.h"

enum { kHead = 1024, kTail = 1024, kBlock = 4096, kPadding = 256, kMostLabels = 512, kMostFiles = 4096 };

static void require(dyn_status status, const char* what) {
  if (status == DYN_OK) return;
  fprintf(stderr, "%s: %s\n", what, dyn_last_message());
  exit(1);
}

static int isBlank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The model's input for a file: the first 1024 bytes and the last, without white space around, padded with
 * 256. */
static int readFeatures(const char* path, int32_t* row) {
  unsigned char head[kBlock], tail[kBlock];
  FILE* file = fopen(path, "rb");
  if (!file) return 0;
  const size_t headSize = fread(head, 1, kBlock, file);
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  fseek(file, size > kBlock ? size - kBlock : 0, SEEK_SET);
  const size_t tailSize = fread(tail, 1, kBlock, file);
  fclose(file);
  size_t from = 0, to = tailSize;
  while (from < headSize && isBlank(head[from])) ++from;
  while (to > 0 && isBlank(tail[to - 1])) --to;
  for (int i = 0; i < kHead + kTail; ++i) row[i] = kPadding;
  for (size_t i = 0; i < kHead && from + i < headSize; ++i) row[i] = head[from + i];
  for (size_t i = 0; i < kTail && i < to; ++i) row[kHead + kTail - 1 - i] = tail[to - 1 - i];
  return 1;
}

static int readLabels(const char* path, char labels[kMostLabels][32]) {
  FILE* file = fopen(path, "r");
  int count = 0;
  if (!file) return 0;
  while (count < kMostLabels && fscanf(file, "%31s", labels[count]) == 1) ++count;
  fclose(file);
  return count;
}

int main(int argumentCount, char** arguments) {
  static char labels[kMostLabels][32];
  static char names[kMostFiles][256];
  if (argumentCount != 4) return fprintf(stderr, "usage: file_kinds MODEL.dynpkg LABELS FOLDER\n"), 2;
  const int labelCount = readLabels(arguments[2], labels);
  DIR* folder = opendir(arguments[3]);
  if (labelCount == 0 || !folder) return fprintf(stderr, "no labels, or no folder\n"), 1;

  int32_t* rows = malloc(sizeof(int32_t) * kMostFiles * (kHead + kTail));
  int64_t count = 0;
  for (struct dirent* entry; rows && count < kMostFiles && (entry = readdir(folder));) {
    char path[4096];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", arguments[3], entry->d_name);
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 8) continue;
    if (!readFeatures(path, rows + count * (kHead + kTail))) continue;
    snprintf(names[count++], sizeof names[0], "%s", entry->d_name);
  }
  closedir(folder);

  dyn_module* module;
  dyn_context* context;
  dyn_value *bytes, *scores;
  const int64_t shape[2] = {count, kHead + kTail};
  require(dyn_module_load_file(arguments[1], NULL, &module), arguments[1]);
  require(dyn_context_create(module, NULL, &context), "context");
  require(dyn_value_borrow(context, DYN_I32, 2, shape, rows, sizeof(int32_t) * (size_t)(shape[0] * shape[1]),
                           NULL, NULL, &bytes),
          "input");
  require(dyn_context_set_input(context, 0, bytes), "input");
  require(dyn_context_run(context), "run");
  require(dyn_context_get_output(context, 0, &scores), "output");

  const float* score = dyn_value_data(scores);
  const int64_t width = dyn_value_shape(scores)[1];
  for (int64_t i = 0; i < count; ++i, score += width) {
    int64_t best = 0;
    for (int64_t k = 1; k < width; ++k)
      if (score[k] > score[best]) best = k;
    printf("%-14s %3.0f%%  %s\n", best < labelCount ? labels[best] : "?", 100 * score[best], names[i]);
  }
  dyn_value_release(scores);
  dyn_value_release(bytes);
  dyn_context_release(context);
  dyn_module_release(module);
  free(rows);
  return 0;
}
