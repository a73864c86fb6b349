/* Kernels for operators that the text language cannot express; mmcv.dyn and contrib.dyn call them.
 *
 *   cc -O2 -shared -fPIC -I PREFIX/include/dyn kernels.c -o libkernels.so -lm
 *   dynrepl run detect.onnx n=5 k=2 --ops mmcv.dyn --ops contrib.dyn --ops libkernels.so */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <abi/dyn_custom_kernel.h>

/* The area that two boxes (x1, y1, x2, y2) share, over the area of both; a box is `offset` longer than the
 * distance of its corners. */
static float overlap(const float* a, const float* b, float offset) {
  const float width = fminf(a[2], b[2]) - fmaxf(a[0], b[0]) + offset,
              height = fminf(a[3], b[3]) - fmaxf(a[1], b[1]) + offset;
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  return shared / ((a[2] - a[0] + offset) * (a[3] - a[1] + offset) +
                   (b[2] - b[0] + offset) * (b[3] - b[1] + offset) - shared);
}

/* Soft-NMS. Arguments: boxes f32[n, 4], scores f32[n], overlap threshold f32, sigma f32, least score f32,
 * method i64 (0: what overlaps more than the threshold goes, 1: linear weights, 2: Gaussian weights), offset
 * i64. Results: rows (box, score) f32[n, 5] by falling score, their boxes' places i64[n], and how many rows
 * there are i64[1]; the rows behind these are 0. */
enum { BOXES, SCORES, THRESHOLD, SIGMA, LEAST, METHOD, OFFSET, ARGUMENTS };
static const int32_t kTypes[] = {DYN_F32, DYN_F32, DYN_F32, DYN_F32, DYN_F32, DYN_I64, DYN_I64};

static int32_t soft_nms_scratch(const DynBuiltinCall* call, uint64_t* bytes) {
  *bytes = (uint64_t)call->arguments[SCORES].elements * sizeof(float);
  return DYN_OK;
}

static float weight(float shared, int64_t method, float threshold, float sigma) {
  if (method == 2) return expf(-shared * shared / sigma);
  if (shared < threshold) return 1;
  return method == 1 ? 1 - shared : 0;
}

static int32_t soft_nms(const DynBuiltinCall* call) {
  const DynTensorView* a = call->arguments;
  int good = call->argumentCount == ARGUMENTS && call->resultCount == 3;
  for (int i = 0; good && i < ARGUMENTS; ++i)
    good = a[i].dtype == kTypes[i] && (i < THRESHOLD || a[i].elements == 1);
  if (!good || a[BOXES].rank != 2 || a[SCORES].rank != 1 || a[BOXES].shape[1] != 4 ||
      a[BOXES].shape[0] != a[SCORES].shape[0])
    return dyn_custom_fault(call, DYN_BAD_INPUT, "boxes f32[n, 4], scores f32[n], then one number each");
  const int64_t n = a[SCORES].elements, method = *(const int64_t*)a[METHOD].data;
  const float *boxes = a[BOXES].data, threshold = *(const float*)a[THRESHOLD].data,
              sigma = *(const float*)a[SIGMA].data, least = *(const float*)a[LEAST].data,
              offset = (float)*(const int64_t*)a[OFFSET].data;
  float *scores = call->scratch, *rows = call->results[0].data;
  int64_t *places = call->results[1].data, *count = call->results[2].data, kept = 0;
  if (n > 0) memcpy(scores, a[SCORES].data, (size_t)n * sizeof(float));
  for (; kept < n; ++kept) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
      if (scores[i] > scores[best]) best = i;
    if (!(scores[best] >= least)) break;
    const float* box = boxes + best * 4;
    memcpy(rows + kept * 5, box, 4 * sizeof(float));
    rows[kept * 5 + 4] = scores[best];
    places[kept] = best;
    scores[best] = -INFINITY;
    for (int64_t i = 0; i < n; ++i)
      if (scores[i] >= least)
        scores[i] *= weight(overlap(box, boxes + i * 4, offset), method, threshold, sigma);
  }
  memset(rows + kept * 5, 0, (size_t)(n - kept) * 5 * sizeof(float));
  memset(places + kept, 0, (size_t)(n - kept) * sizeof(int64_t));
  *count = kept;
  return DYN_OK;
}

/* How many characters each string has: strings in UTF-8 -> i64 of the same shape. */
static int32_t text_length(const DynBuiltinCall* call) {
  const DynTensorView *x = call->arguments, *y = call->results;
  if (call->argumentCount != 1 || call->resultCount != 1 || x->dtype != DYN_STRING || y->dtype != DYN_I64 ||
      x->elements != y->elements)
    return dyn_custom_fault(call, DYN_BAD_INPUT, "strings, and an i64 for each");
  const DynText* const* texts = x->data;
  int64_t* lengths = y->data;
  for (int64_t i = 0; i < x->elements; ++i) {
    lengths[i] = 0;
    if (!texts[i]) continue; /* the empty string */
    for (uint64_t k = 0; k < texts[i]->sizeBytes; ++k)
      lengths[i] += ((unsigned char)texts[i]->text[k] & 0xc0) != 0x80;
  }
  return DYN_OK;
}

DYN_CUSTOM_KERNELS({"soft_nms", {soft_nms_scratch, soft_nms}}, {"text_length", {NULL, text_length}})
