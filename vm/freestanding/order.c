/* sort, topk, unique. Reals are in order with NaN last; what is descending is the exact reverse, so that NaN
 * comes first. Equal elements keep their order. */
#include "vm/freestanding/builtins.h"

/* --- a heap of places */

static uint64_t rankAt(const FreestandingOrder* order, uint32_t place) {
  return freestandingRank(order->dtype, order->first + place * order->strideBytes) ^ order->flip;
}
static int isBefore(const FreestandingOrder* order, uint32_t a, uint32_t b) {
  const uint64_t x = rankAt(order, a), y = rankAt(order, b);
  return x < y || (x == y && a < b);
}
static void sink(const FreestandingOrder* order, uint32_t at) {
  uint32_t* places = order->places;
  const uint32_t moved = places[at];
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= order->left) break;
    if (child + 1 < order->left && isBefore(order, places[child + 1], places[child])) ++child;
    if (!isBefore(order, places[child], moved)) break;
    places[at] = places[child];
    at = child;
  }
  places[at] = moved;
}
void freestandingOrderBegin(FreestandingOrder* order, uint32_t count) {
  order->left = count;
  for (uint32_t i = 0; i < count; ++i) order->places[i] = i;
  for (uint32_t i = count / 2; i-- > 0;) sink(order, i);
}
uint32_t freestandingOrderNext(FreestandingOrder* order) {
  const uint32_t next = order->places[0];
  order->places[0] = order->places[--order->left];
  if (order->left > 0) sink(order, 0);
  return next;
}

/* --- sort and topk */

static int32_t takeRows(FreestandingCall* call, const DynFreestandingTensor* x, FreestandingAxisView view,
                        int64_t count, int largest, DynFreestandingTensor* values,
                        DynFreestandingTensor* indexes) {
  const uint32_t bytes = freestandingElementBytes(x->object.dtype);
  FreestandingOrder order = {
      x->object.dtype, 0, (uint64_t)view.inner * bytes, largest ? ~(uint64_t)0 : 0, 0, 0};
  order.places = callScratch(call, view.size, sizeof(uint32_t));
  if (!order.places) return 0;
  const int64_t rows = call->vm->dryRun ? 0 : view.outer * view.inner;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t outer = row / view.inner, inner = row % view.inner;
    order.first = x->data + (outer * view.size * view.inner + inner) * bytes;
    freestandingOrderBegin(&order, (uint32_t)view.size);
    int64_t target = outer * count * view.inner + inner;
    for (int64_t i = 0; i < count; ++i, target += view.inner) {
      const uint32_t place = freestandingOrderNext(&order);
      memcpy(values->data + target * bytes, order.first + place * order.strideBytes, bytes);
      if (indexes) ((int64_t*)indexes->data)[target] = place;
    }
  }
  callReturn(call, order.places);
  return 1;
}

/* `count` < 0: all. */
static int32_t taken(FreestandingCall* call, int64_t axis, int64_t count, int largest) {
  const DynFreestandingTensor* x = callTensor(call, 0);
  if (!x) return 0;
  if (!freestandingIsNumber(x->object.dtype)) return callFault(call, DYN_UNSUPPORTED, "this element type");
  int64_t shape[FREESTANDING_MOST_AXES];
  FreestandingAxisView view = {1, 1, 1};
  const int32_t rank = x->object.rank;
  if (rank > 0 || count >= 0) { /* one number is sorted as it is */
    if (!callAxis(call, x, &axis)) return 0;
    view = freestandingAxisView(freestandingShape(x), rank, axis);
  }
  if (count < 0 && call->scalarCount == 0) count = view.size;
  if (count < 0 || count > view.size) {
    callFault(call, DYN_OUT_OF_RANGE, "k is ");
    freestandingSayNumber(call->vm, count);
    freestandingSay(call->vm, ", the axis has ");
    freestandingSayNumber(call->vm, view.size);
    return 0;
  }
  if (view.size > UINT32_MAX) return callFault(call, DYN_UNSUPPORTED, "an axis of more than 2^32 elements");
  for (int32_t i = 0; i < rank; ++i) shape[i] = i == axis ? count : freestandingShape(x)[i];
  DynFreestandingTensor* values = callResult(call, 0, x->object.dtype, rank, shape, 0);
  DynFreestandingTensor* indexes = 0;
  if (values && call->results[0] > 1) {
    indexes = callResult(call, 1, DYN_I64, rank, shape, 0);
    if (!indexes) return 0;
  }
  return values && takeRows(call, x, view, count, largest, values, indexes);
}

int32_t dyn_freestanding_builtin_sort(FreestandingCall* call) {
  return taken(call, callNumber(call, 0, -1), -1, callNumber(call, 1, 0) & 1);
}
int32_t dyn_freestanding_builtin_topk(FreestandingCall* call) {
  return taken(call, callNumber(call, 0, -1), call->scalars[0], callNumber(call, 1, 3) & 1);
}

/* --- unique */

typedef struct Slices {
  const DynFreestandingTensor* x;
  FreestandingAxisView view;
  int64_t length; /* elements of one */
} Slices;

static const char* elementOf(const Slices* slices, int64_t slice, int64_t i) {
  const FreestandingAxisView* view = &slices->view;
  int64_t at = slice;
  if (slices->length != 1) at = (i / view->inner * view->size + slice) * view->inner + i % view->inner;
  return slices->x->data + at * (int64_t)freestandingElementBytes(slices->x->object.dtype);
}
static int compareSlices(const Slices* slices, int64_t a, int64_t b) {
  const uint32_t dtype = slices->x->object.dtype;
  for (int64_t i = 0; i < slices->length; ++i) {
    const uint64_t x = freestandingRank(dtype, elementOf(slices, a, i)),
                   y = freestandingRank(dtype, elementOf(slices, b, i));
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}
static int sliceIsBefore(const Slices* slices, uint32_t a, uint32_t b) {
  const int compared = compareSlices(slices, a, b);
  return compared < 0 || (compared == 0 && a < b);
}
/* In order, in place. */
static void sortSlices(const Slices* slices, uint32_t* order, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) order[i] = i;
  /* A heap of the last ones; then the last of all goes behind it, one after the other. */
  for (uint32_t left = count, begin = count / 2; left > 1;) {
    uint32_t at, moved;
    if (begin > 0) {
      at = --begin;
      moved = order[at];
    } else {
      at = 0;
      moved = order[--left];
      order[left] = order[0];
    }
    for (uint32_t child; (child = 2 * at + 1) < left; at = child) {
      if (child + 1 < left && sliceIsBefore(slices, order[child], order[child + 1])) ++child;
      if (!sliceIsBefore(slices, moved, order[child])) break;
      order[at] = order[child];
    }
    order[at] = moved;
  }
}

/* Each has room for as many as there are slices. */
typedef struct Groups {
  uint32_t* order;  /* the slices in order */
  uint32_t* first;  /* of a group: the slice that came first */
  uint32_t* places; /* of a group: where it stands in the result */
  uint32_t* of;     /* of a slice: its group */
} Groups;

static uint32_t findGroups(const Slices* slices, Groups* groups) {
  const uint32_t count = (uint32_t)slices->view.size;
  uint32_t found = 0;
  sortSlices(slices, groups->order, count);
  for (uint32_t i = 0; i < count; ++i) {
    if (i == 0 || compareSlices(slices, groups->order[i - 1], groups->order[i]) != 0)
      groups->first[found++] = groups->order[i];
    groups->of[groups->order[i]] = found - 1;
  }
  return found;
}
/* Where each group stands in the result. */
static void placeGroups(const Groups* groups, uint32_t count, uint32_t found, int sorted) {
  for (uint32_t i = 0; i < found; ++i) groups->places[i] = i;
  if (sorted) return;
  uint32_t next = 0;
  for (uint32_t slice = 0; slice < count; ++slice)
    if (groups->first[groups->of[slice]] == slice) groups->places[groups->of[slice]] = next++;
}

static void fillUnique(const Slices* slices, const Groups* groups, int64_t found,
                       DynFreestandingTensor* const* results) {
  const FreestandingAxisView* view = &slices->view;
  const uint32_t bytes = freestandingElementBytes(slices->x->object.dtype);
  int64_t* const first = results[1] ? (int64_t*)results[1]->data : 0;
  int64_t* const inverse = results[2] ? (int64_t*)results[2]->data : 0;
  int64_t* const counts = results[3] ? (int64_t*)results[3]->data : 0;
  for (int64_t group = 0; group < found; ++group) {
    const int64_t to = groups->places[group];
    for (int64_t i = 0; i < slices->length; ++i) {
      const int64_t at =
          slices->length == 1 ? to : (i / view->inner * found + to) * view->inner + i % view->inner;
      memcpy(results[0]->data + at * bytes, elementOf(slices, groups->first[group], i), bytes);
    }
    if (first) first[to] = groups->first[group];
    if (counts) counts[to] = 0;
  }
  for (int64_t slice = 0; slice < view->size; ++slice) {
    const uint32_t to = groups->places[groups->of[slice]];
    if (inverse) inverse[slice] = to;
    if (counts) ++counts[to];
  }
}

static int32_t makeUnique(FreestandingCall* call, const Slices* slices, const Groups* groups, int64_t found,
                          int32_t rank, int64_t* shape, int64_t axis) {
  DynFreestandingTensor* results[FREESTANDING_MADE] = {0};
  shape[axis] = found;
  results[0] = callResult(call, 0, slices->x->object.dtype, rank, shape, 0);
  if (!results[0]) return 0;
  for (int32_t i = 1; i < call->results[0] && i < FREESTANDING_MADE; ++i) {
    results[i] = callResult(call, i, DYN_I64, 1, i == 2 ? &slices->view.size : &found, 0);
    if (!results[i]) return 0;
  }
  if (!call->vm->dryRun) fillUnique(slices, groups, found, results);
  return 1;
}

int32_t dyn_freestanding_builtin_unique(FreestandingCall* call) {
  const DynFreestandingTensor* x = callTensor(call, 0);
  if (!x) return 0;
  if (!freestandingIsNumber(x->object.dtype)) return callFault(call, DYN_UNSUPPORTED, "this element type");
  int64_t axis = callNumber(call, 0, DYN_AXIS_FLAT), shape[FREESTANDING_MOST_AXES];
  const int flat = axis == DYN_AXIS_FLAT;
  const int32_t rank = flat ? 1 : x->object.rank;
  Slices slices = {x, {1, x->elements, 1}, 1};
  if (flat) {
    axis = 0;
  } else {
    if (!callAxis(call, x, &axis)) return 0;
    slices.view = freestandingAxisView(freestandingShape(x), rank, axis);
    for (int32_t i = 0; i < rank; ++i) shape[i] = freestandingShape(x)[i];
    slices.length = slices.view.outer * slices.view.inner;
  }
  const int64_t count = slices.view.size;
  if (count > UINT32_MAX) return callFault(call, DYN_UNSUPPORTED, "more than 2^32 slices");
  uint32_t* scratch = callScratch(call, count, 4 * sizeof(uint32_t));
  if (!scratch) return 0;
  Groups groups = {scratch, scratch + count, scratch + 2 * count, scratch + 3 * count};
  int64_t found = 0;
  int32_t well = 1;
  if (call->vm->dryRun) {
    well = count == 0 || callCount(call, 1, slices.length == 0 ? 1 : count, &found);
  } else {
    found = findGroups(&slices, &groups);
    placeGroups(&groups, (uint32_t)count, (uint32_t)found, callNumber(call, 1, 1) != 0);
  }
  well = well && makeUnique(call, &slices, &groups, found, rank, shape, axis);
  callReturn(call, scratch);
  return well;
}
