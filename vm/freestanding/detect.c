/* nms: of each class the boxes by falling score, kept unless one kept before overlaps them; and check_values:
 * whether elements are what an operation demands of them. */
#include "vm/freestanding/builtins.h"

typedef struct Box {
  float y1, x1, y2, x2, area;
} Box;

static float smaller(float a, float b) { return b < a ? b : a; }
static float larger(float a, float b) { return a < b ? b : a; }

static Box boxAt(const float* from, int centered) {
  Box box;
  if (centered) {
    const float halfWidth = from[2] / 2, halfHeight = from[3] / 2;
    box.y1 = from[1] - halfHeight;
    box.x1 = from[0] - halfWidth;
    box.y2 = from[1] + halfHeight;
    box.x2 = from[0] + halfWidth;
  } else {
    box.y1 = smaller(from[0], from[2]);
    box.x1 = smaller(from[1], from[3]);
    box.y2 = larger(from[0], from[2]);
    box.x2 = larger(from[1], from[3]);
  }
  box.area = (box.y2 - box.y1) * (box.x2 - box.x1);
  return box;
}
static int overlap(const Box* a, const Box* b, float threshold) {
  if (!(a->area > 0) || !(b->area > 0)) return 0;
  const float height = (a->y2 < b->y2 ? a->y2 : b->y2) - (a->y1 > b->y1 ? a->y1 : b->y1);
  const float width = (a->x2 < b->x2 ? a->x2 : b->x2) - (a->x1 > b->x1 ? a->x1 : b->x1);
  const float common = height * width;
  return height > 0 && width > 0 && common / (a->area + b->area - common) > threshold;
}

typedef struct Detection {
  const DynFreestandingTensor *boxes, *scores;
  int64_t batches, classes, count, most; /* most boxes of a class */
  float overlapThreshold, scoreThreshold;
  int hasScoreThreshold, centered;
} Detection;

/* One f32; what is not given keeps its value. 1, or 0 after a fault. */
static int32_t realArgument(FreestandingCall* call, int32_t index, float* value) {
  if (!callObject(call, index)) return 1;
  const DynFreestandingTensor* tensor = callTensor(call, index);
  if (!tensor) return 0;
  if (tensor->object.dtype != DYN_F32 || tensor->elements != 1)
    return callFault(call, DYN_BAD_INPUT, "a threshold must be one f32");
  *value = *(const float*)tensor->data;
  return 1;
}

static int32_t readDetection(FreestandingCall* call, Detection* d) {
  d->boxes = callTensor(call, 0);
  d->scores = d->boxes ? callTensor(call, 1) : 0;
  if (!d->scores) return 0;
  const int64_t *boxes = freestandingShape(d->boxes), *scores = freestandingShape(d->scores);
  if (d->boxes->object.dtype != DYN_F32 || d->boxes->object.rank != 3 || boxes[2] != 4)
    return callFault(call, DYN_BAD_INPUT, "boxes must be f32[batch, boxes, 4]");
  if (d->scores->object.dtype != DYN_F32 || d->scores->object.rank != 3 || scores[0] != boxes[0] ||
      scores[2] != boxes[1])
    return callFault(call, DYN_BAD_INPUT, "scores must be f32[batch, classes, boxes]");
  d->batches = boxes[0];
  d->count = boxes[1];
  d->classes = scores[1];
  d->most = 0;
  if (callObject(call, 2)) {
    const DynFreestandingTensor* most = callTensor(call, 2);
    if (!most) return 0;
    if (most->object.dtype != DYN_I64 || most->elements != 1)
      return callFault(call, DYN_BAD_INPUT, "the most boxes of a class must be one i64");
    d->most = callKnows(call, most) ? *(const int64_t*)most->data : d->count;
  }
  if (d->most > d->count) d->most = d->count;
  if (d->most < 0) d->most = 0;
  d->overlapThreshold = d->scoreThreshold = 0;
  d->hasScoreThreshold = callObject(call, 4) != 0;
  d->centered = callNumber(call, 0, 0) != 0;
  if (d->count > UINT32_MAX) return callFault(call, DYN_UNSUPPORTED, "more than 2^32 boxes");
  return realArgument(call, 3, &d->overlapThreshold) && realArgument(call, 4, &d->scoreThreshold);
}

/* In the order of the scores; one that is no number comes last. */
static uint32_t keyOf(float score) {
  union {
    float value;
    uint32_t bits;
  } real = {score + 0.0f}; /* -0 is 0 */
  if (score != score) return 0;
  return real.bits >> 31 ? ~real.bits : real.bits | 0x80000000u;
}

/* The kept boxes of a class, their number. */
static int64_t detect(const Detection* d, int64_t unit, uint32_t* places, uint32_t* keys, uint32_t* kept) {
  const float* boxes = (const float*)d->boxes->data + unit / d->classes * d->count * 4;
  const float* given = (const float*)d->scores->data + unit * d->count;
  for (int64_t i = 0; i < d->count; ++i) keys[i] = keyOf(given[i]);
  FreestandingOrder order = {DYN_U32, (const char*)keys, sizeof *keys, ~(uint64_t)0, places, 0};
  freestandingOrderBegin(&order, (uint32_t)d->count);
  int64_t found = 0;
  while (order.left > 0 && found < d->most) {
    const uint32_t candidate = freestandingOrderNext(&order);
    if (d->hasScoreThreshold && !(given[candidate] > d->scoreThreshold)) continue;
    const Box box = boxAt(boxes + (uint64_t)candidate * 4, d->centered);
    int covered = 0;
    for (int64_t i = 0; i < found && !covered; ++i) {
      const Box before = boxAt(boxes + (uint64_t)kept[i] * 4, d->centered);
      covered = overlap(&before, &box, d->overlapThreshold);
    }
    if (!covered) kept[found++] = candidate;
  }
  return found;
}

int32_t dyn_freestanding_builtin_nms(FreestandingCall* call) {
  Detection d = {0};
  if (!readDetection(call, &d)) return 0;
  const int64_t units = d.most > 0 ? d.batches * d.classes : 0;
  int64_t slots;
  if (__builtin_mul_overflow(units, d.most, &slots)) return callFault(call, DYN_ARITHMETIC, "too many boxes");
  /* Without values the most is that of the boxes: scratch memory is that of the worst. */
  uint32_t* kept = callScratch(call, slots, sizeof(uint32_t));
  uint32_t* counts = kept ? callScratch(call, units, sizeof(uint32_t)) : 0;
  uint32_t* places = counts ? callScratch(call, d.count, sizeof(uint32_t)) : 0;
  uint32_t* keys = places ? callScratch(call, d.count, sizeof *keys) : 0;
  if (!keys) return 0;
  int64_t total = 0;
  if (call->vm->dryRun) {
    if (!callCount(call, 0, slots, &total)) return 0;
  } else {
    for (int64_t unit = 0; unit < units; ++unit) {
      counts[unit] = (uint32_t)detect(&d, unit, places, keys, kept + unit * d.most);
      total += counts[unit];
    }
  }
  const int64_t shape[2] = {total, 3};
  DynFreestandingTensor* made = callResult(call, 0, DYN_I64, 2, shape, 0);
  if (!made) return 0;
  int64_t* out = (int64_t*)made->data;
  for (int64_t unit = 0; unit < units && !call->vm->dryRun; ++unit) {
    for (uint32_t i = 0; i < counts[unit]; ++i) {
      *out++ = unit / d.classes;
      *out++ = unit % d.classes;
      *out++ = kept[unit * d.most + i];
    }
  }
  callReturn(call, keys);
  callReturn(call, places);
  callReturn(call, counts);
  callReturn(call, kept);
  return 1;
}

/* --- check_values */

static int satisfies(const DynFreestandingTensor* x, int64_t i, int32_t demand) {
  const uint32_t dtype = x->object.dtype;
  if (freestandingClass(dtype) == FREESTANDING_REAL) {
    const double value = freestandingReal(dtype, x->data + i * (int64_t)freestandingElementBytes(dtype));
    if (demand == DYN_ELEMENTS_POSITIVE) return value > 0 && value < __builtin_inf();
    if (demand == DYN_ELEMENTS_NUMBERS) return value == value;
    return value >= 0 && value <= 1;
  }
  const int64_t value = freestandingInteger(x, i);
  const int negative = value < 0 && freestandingClass(dtype) == FREESTANDING_SIGNED;
  if (demand == DYN_ELEMENTS_POSITIVE) return value != 0 && !negative;
  return demand == DYN_ELEMENTS_NUMBERS || value == 0 || value == 1;
}

/* Less, equal or greater (2: neither) than one number of the same type. */
static int compared(const DynFreestandingTensor* x, int64_t i, const DynFreestandingTensor* bound) {
  const uint32_t dtype = x->object.dtype, bytes = freestandingElementBytes(dtype);
  const char *a = x->data + i * (int64_t)bytes, *b = bound->data;
  if (freestandingClass(dtype) == FREESTANDING_REAL) {
    const double left = freestandingReal(dtype, a), right = freestandingReal(dtype, b);
    return left < right ? -1 : left > right ? 1 : left == right ? 0 : 2;
  }
  const uint64_t left = freestandingRank(dtype, a), right = freestandingRank(dtype, b);
  return left < right ? -1 : left > right;
}

int32_t dyn_freestanding_builtin_check_values(FreestandingCall* call) {
  if (call->vm->dryRun) return 1;
  const DynFreestandingTensor *x = callTensor(call, 0), *low = 0, *high = 0;
  if (!x) return 0;
  if (callObject(call, 1) && !(low = callTensor(call, 1))) return 0;
  if (callObject(call, 2) && !(high = callTensor(call, 2))) return 0;
  const int32_t demand = callNumber(call, 0, -1);
  if (!freestandingIsNumber(x->object.dtype)) return callFault(call, DYN_UNSUPPORTED, "this element type");
  for (int64_t i = 0; i < x->elements; ++i) {
    const int order = low ? compared(x, i, low) : 0, end = high ? compared(x, i, high) : 0;
    const int fine = demand != DYN_ELEMENTS_IN_RANGE ? satisfies(x, i, demand)
                                                     : (order == 0 || order == 1) && (end == 0 || end == -1);
    if (fine) continue;
    static const char* const kDemands[] = {"above 0 and finite", "a number", "between 0 and 1",
                                           "within its bounds"};
    callFault(call, DYN_CHECK_FAILED, "element ");
    freestandingSayNumber(call->vm, i);
    freestandingSay(call->vm, " must be ");
    freestandingSay(call->vm, kDemands[demand & 3]);
    return 0;
  }
  return 1;
}
