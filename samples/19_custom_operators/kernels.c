/* Kernels for operators that the text language cannot express; own.dyn calls them.
 *
 *   cc -O2 -shared -fPIC -I PREFIX/include/dyn kernels.c -o libkernels.so -lm
 *   dynrepl run detect.onnx --ops own.dyn --ops libkernels.so boxes=5 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <abi/dyn_custom_kernel.h>

static int is_tensor(const DynTensorView* t, int32_t dtype, uint32_t rank) {
  return t->dtype == dtype && t->rank == rank;
}

/* The area that two boxes (x1, y1, x2, y2) share, over the area of both. */
static float overlap(const float* a, const float* b) {
  const float width = fminf(a[2], b[2]) - fmaxf(a[0], b[0]), height = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared);
}

/* Soft-NMS with Gaussian weights. Arguments: boxes f32[n, 4], scores f32[n], sigma f32, least score f32.
 * Results: rows (box, score) f32[n, 5] by falling score, their boxes' places i64[n], and how many rows there
 * are i64[1]; the rows behind these are 0. */
static int32_t soft_nms_scratch(const DynBuiltinCall* call, uint64_t* bytes) {
  *bytes = (uint64_t)call->arguments[1].elements * sizeof(float);
  return DYN_OK;
}

static int32_t soft_nms(const DynBuiltinCall* call) {
  const DynTensorView* a = call->arguments;
  if (call->argumentCount != 4 || call->resultCount != 3 || !is_tensor(&a[0], DYN_F32, 2) ||
      !is_tensor(&a[1], DYN_F32, 1) || a[0].shape[0] != a[1].shape[0] || a[0].shape[1] != 4 ||
      a[2].dtype != DYN_F32 || a[2].elements != 1 || a[3].dtype != DYN_F32 || a[3].elements != 1)
    return dyn_custom_fault(call, DYN_BAD_INPUT,
                            "boxes f32[n, 4], scores f32[n], sigma f32, least score f32");
  const int64_t n = a[1].elements;
  const float *boxes = a[0].data, sigma = *(const float*)a[2].data, least = *(const float*)a[3].data;
  float *scores = call->scratch, *rows = call->results[0].data;
  int64_t *places = call->results[1].data, *count = call->results[2].data, kept = 0;
  if (n > 0) memcpy(scores, a[1].data, (size_t)n * sizeof(float));
  for (; kept < n; ++kept) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
      if (scores[i] > scores[best]) best = i;
    if (!(scores[best] > least)) break;
    const float* box = boxes + best * 4;
    memcpy(rows + kept * 5, box, 4 * sizeof(float));
    rows[kept * 5 + 4] = scores[best];
    places[kept] = best;
    scores[best] = -INFINITY;
    for (int64_t i = 0; i < n; ++i) {
      const float shared = overlap(box, boxes + i * 4);
      if (scores[i] > least) scores[i] *= expf(-shared * shared / sigma);
    }
  }
  for (int64_t i = kept; i < n; ++i) {
    memset(rows + i * 5, 0, 5 * sizeof(float));
    places[i] = 0;
  }
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
