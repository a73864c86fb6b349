/* concat, list_concat, list_stack, split_to_list, copy. */
#include "vm/freestanding/builtins.h"

/* Slices of `from`, as many as `outer`, each so many bytes behind the one before. */
static void place(const DynFreestandingTensor* from, char* to, int64_t outer, uint64_t strideBytes) {
  const uint32_t bytes = freestandingElementBytes(from->object.dtype);
  const int32_t rank = from->object.rank;
  const int64_t slice = from->elements / outer;
  if (from->data) {
    for (int64_t i = 0; i < outer; ++i)
      memcpy(to + (uint64_t)i * strideBytes, from->data + (uint64_t)(i * slice) * bytes,
             (size_t)slice * bytes);
    return;
  }
  const int64_t *shape = freestandingShape(from), *strides = shape + rank;
  int64_t index[FREESTANDING_MOST_AXES] = {0};
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t k = 0; k < slice; ++k) {
      int64_t at = 0;
      for (int32_t axis = 0; axis < rank; ++axis) at += index[axis] * strides[axis];
      memcpy(to + (uint64_t)i * strideBytes + (uint64_t)k * bytes, from->first + at * (int64_t)bytes, bytes);
      for (int32_t axis = rank; axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
    }
  }
}

typedef DynFreestandingObject* (*ItemAt)(const FreestandingCall* call, int64_t i);
static DynFreestandingObject* argumentAt(const FreestandingCall* call, int64_t i) {
  return callObject(call, (int32_t)i);
}
static DynFreestandingObject* listItemAt(const FreestandingCall* call, int64_t i) {
  return ((const FreestandingItems*)callObject(call, 0))->items[i];
}

static int32_t differs(FreestandingCall* call, int64_t item) {
  callFault(call, DYN_BAD_INPUT, "the items do not fit, the first other one is ");
  freestandingSayNumber(call->vm, item);
  return 0;
}

/* Along an axis; with `stack` each becomes a slice of a new one. */
static int32_t join(FreestandingCall* call, ItemAt itemAt, int64_t count, int64_t axis, int stack) {
  if (count == 0) return callFault(call, DYN_BAD_INPUT, "nothing to join: the list is empty");
  const DynFreestandingTensor* first = (const DynFreestandingTensor*)itemAt(call, 0);
  if (!first || first->object.kind != DYN_FREESTANDING_TENSOR) return differs(call, 0);
  const int32_t rank = first->object.rank + stack;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || rank > FREESTANDING_MOST_AXES)
    return callFault(call, DYN_BAD_INPUT, "the axis is out of range");
  int64_t shape[FREESTANDING_MOST_AXES], total = 0;
  int known = 1;
  for (int64_t i = 0; i < count; ++i) {
    const DynFreestandingTensor* item = (const DynFreestandingTensor*)itemAt(call, i);
    int fits = item && item->object.kind == DYN_FREESTANDING_TENSOR &&
               item->object.dtype == first->object.dtype && item->object.rank == first->object.rank;
    for (int32_t d = 0; fits && d < first->object.rank; ++d)
      fits = (d == axis && !stack) || freestandingShape(item)[d] == freestandingShape(first)[d];
    if (!fits) return differs(call, i);
    if (__builtin_add_overflow(total, stack ? 1 : freestandingShape(item)[axis], &total))
      return callFault(call, DYN_ARITHMETIC, "the joined axis overflows");
    known &= callKnows(call, item);
  }
  for (int32_t d = 0; d < rank; ++d)
    shape[d] = d == axis ? total : freestandingShape(first)[stack && d > axis ? d - 1 : d];
  DynFreestandingTensor* made = callResult(call, 0, first->object.dtype, rank, shape, known);
  if (!made || !known || made->elements == 0) return made != 0;
  const FreestandingAxisView view = freestandingAxisView(shape, rank, axis);
  const uint64_t bytes = freestandingElementBytes(first->object.dtype);
  const uint64_t stride = (uint64_t)(view.size * view.inner) * bytes;
  char* to = made->data;
  for (int64_t i = 0; i < count; ++i) {
    const DynFreestandingTensor* item = (const DynFreestandingTensor*)itemAt(call, i);
    if (item->elements > 0) place(item, to, view.outer, stride);
    to += (uint64_t)(item->elements / view.outer) * bytes;
  }
  return 1;
}

static int32_t joinList(FreestandingCall* call, int stack) {
  const FreestandingItems* list = (const FreestandingItems*)callObject(call, 0);
  if (!list || list->object.kind != DYN_FREESTANDING_LIST)
    return callFault(call, DYN_BAD_INPUT, "a list is needed");
  return join(call, &listItemAt, list->count, call->scalars[0], stack);
}

int32_t dyn_freestanding_builtin_list_concat(FreestandingCall* call) { return joinList(call, 0); }
int32_t dyn_freestanding_builtin_list_stack(FreestandingCall* call) { return joinList(call, 1); }
int32_t dyn_freestanding_builtin_concat(FreestandingCall* call) {
  return join(call, &argumentAt, call->arguments[0], call->scalars[0], 0);
}

int32_t dyn_freestanding_builtin_copy(FreestandingCall* call) {
  const DynFreestandingTensor* x = callStrided(call, 0);
  if (!x) return 0;
  const int known = callKnows(call, x);
  DynFreestandingTensor* made =
      callResult(call, 0, x->object.dtype, x->object.rank, freestandingShape(x), known);
  if (made && known && made->data != x->data) freestandingCopyDense(x, made->data);
  return made != 0;
}

/* --- cutting */

typedef struct Pieces {
  const DynFreestandingTensor* sizes; /* null: one size for all */
  int64_t each, count;
} Pieces;

/* 1, or 0 after a fault. */
static int32_t piecesOf(FreestandingCall* call, int64_t total, Pieces* pieces) {
  pieces->sizes = 0;
  pieces->each = 1;
  if (callObject(call, 1)) {
    const DynFreestandingTensor* sizes = callTensor(call, 1);
    if (!sizes) return 0;
    if (sizes->object.dtype != DYN_I64 && sizes->object.dtype != DYN_I32)
      return callFault(call, DYN_BAD_INPUT, "sizes must be i64 or i32");
    if (!callKnows(call, sizes))
      return callFault(call, DYN_UNSUPPORTED,
                       "a dry run ends here: the sizes of the pieces depend on values");
    if (sizes->object.rank == 1) {
      int64_t sum = 0;
      for (int64_t i = 0; i < sizes->elements; ++i) {
        const int64_t piece = freestandingInteger(sizes, i);
        if (piece < 0 || piece > total - sum)
          return callFault(call, DYN_CHECK_FAILED, "the pieces do not add up to the axis");
        sum += piece;
      }
      if (sum != total) return callFault(call, DYN_CHECK_FAILED, "the pieces do not add up to the axis");
      pieces->sizes = sizes;
      pieces->count = sizes->elements;
      return 1;
    }
    pieces->each = freestandingInteger(sizes, 0);
  }
  if (pieces->each <= 0) return callFault(call, DYN_CHECK_FAILED, "a piece must have at least 1");
  pieces->count = total / pieces->each + (total % pieces->each != 0);
  return 1;
}

int32_t dyn_freestanding_builtin_split_to_list(FreestandingCall* call) {
  const DynFreestandingTensor* x = callTensor(call, 0);
  int64_t axis = call->scalars[0], shape[FREESTANDING_MOST_AXES];
  if (!x || !callAxis(call, x, &axis)) return 0;
  const FreestandingAxisView view = freestandingAxisView(freestandingShape(x), x->object.rank, axis);
  Pieces pieces = {0};
  if (!piecesOf(call, view.size, &pieces)) return 0;
  const int32_t drop = callNumber(call, 0, 1) == 0 && !callObject(call, 1);
  const int32_t rank = x->object.rank - drop;
  FreestandingItems* list = freestandingNewItems(call->vm, DYN_FREESTANDING_LIST, 0, pieces.count);
  if (!list) return 0;
  call->made[0] = list;
  const int known = callKnows(call, x);
  const uint64_t bytes = freestandingElementBytes(x->object.dtype);
  int64_t offset = 0;
  for (int64_t i = 0; i < pieces.count; ++i) {
    const int64_t left = view.size - offset;
    const int64_t piece = pieces.sizes         ? freestandingInteger(pieces.sizes, i)
                          : pieces.each < left ? pieces.each
                                               : left;
    for (int32_t d = 0; d < rank; ++d) shape[d] = freestandingShape(x)[drop && d >= axis ? d + 1 : d];
    if (!drop) shape[axis] = piece;
    DynFreestandingTensor* part = freestandingNewTensor(call->vm, x->object.dtype, rank, shape);
    if (!part) return 0;
    list->items[list->count++] = &part->object;
    if (known) part->storage->unknown = 0;
    const uint64_t slice = (uint64_t)(piece * view.inner) * bytes;
    for (int64_t outer = 0; known && outer < view.outer && slice > 0; ++outer)
      memcpy(part->data + (uint64_t)outer * slice,
             x->data + (uint64_t)((outer * view.size + offset) * view.inner) * bytes, slice);
    offset += piece;
  }
  return 1;
}
