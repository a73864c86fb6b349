/* scatter_elements and scatter_nd. Updates are applied in order. The result may be the data: an update in
 * place. */
#include "vm/freestanding/builtins.h"

typedef struct Scatter {
  const DynFreestandingTensor *data, *indexes, *updates;
  DynFreestandingTensor* out;
  int32_t how;
} Scatter;

/* 1, or 0 after a fault. */
static int32_t prepare(FreestandingCall* call, int32_t how, Scatter* s) {
  s->how = how;
  s->data = callTensor(call, 0);
  s->indexes = s->data ? callTensor(call, 1) : 0;
  s->updates = s->indexes ? callTensor(call, 2) : 0;
  if (!s->updates) return 0;
  const uint32_t index = s->indexes->object.dtype, dtype = s->data->object.dtype;
  if (index != DYN_I64 && index != DYN_I32)
    return callFault(call, DYN_BAD_INPUT, "indexes must be i64 or i32");
  if (s->updates->object.dtype != dtype)
    return callFault(call, DYN_BAD_INPUT, "the updates are of another type than the data");
  if (how < DYN_SCATTER_SET || how > DYN_SCATTER_MAXIMUM)
    return callFault(call, DYN_BAD_PROGRAM, "a way that is not known");
  if (how != DYN_SCATTER_SET && !freestandingIsNumber(dtype))
    return callFault(call, DYN_UNSUPPORTED, "this element type");
  s->out = callResult(call, 0, dtype, s->data->object.rank, freestandingShape(s->data), 0);
  if (!s->out) return 0;
  if (!call->vm->dryRun && s->out->data != s->data->data)
    memcpy(s->out->data, s->data->data, (size_t)s->data->elements * freestandingElementBytes(dtype));
  return 1;
}

/* Negative counts from the end. 1, or 0 after a fault. */
static int32_t indexAt(FreestandingCall* call, const Scatter* s, int64_t i, int64_t size, int64_t* index) {
  const int64_t given = freestandingInteger(s->indexes, i);
  *index = given < 0 ? given + size : given;
  if (*index >= 0 && *index < size) return 1;
  callFault(call, DYN_OUT_OF_RANGE, "index ");
  freestandingSayNumber(call->vm, given);
  freestandingSay(call->vm, " on an axis of ");
  freestandingSayNumber(call->vm, size);
  return 0;
}

static void update(const Scatter* s, int64_t to, int64_t from, int64_t count) {
  const uint32_t dtype = s->data->object.dtype;
  const int64_t bytes = freestandingElementBytes(dtype);
  char* target = s->out->data + to * bytes;
  const char* source = s->updates->data + from * bytes;
  for (int64_t i = 0; i < count; ++i)
    freestandingUpdate(dtype, s->how, target + i * bytes, source + i * bytes);
}

int32_t dyn_freestanding_builtin_scatter_elements(FreestandingCall* call) {
  Scatter s = {0};
  if (!prepare(call, callNumber(call, 1, DYN_SCATTER_SET), &s)) return 0;
  int64_t axis = callNumber(call, 0, 0);
  const int32_t rank = s.data->object.rank;
  if (!callAxis(call, s.data, &axis)) return 0;
  const int64_t *shape = freestandingShape(s.indexes), *sizes = freestandingShape(s.data);
  int fits = s.indexes->object.rank == rank && s.updates->object.rank == rank;
  for (int32_t i = 0; fits && i < rank; ++i)
    fits = shape[i] == freestandingShape(s.updates)[i] &&
           (i == axis || shape[i] <= sizes[i] || s.indexes->elements == 0);
  if (!fits)
    return callFault(call, DYN_BAD_INPUT, "indexes and updates must be of one shape that fits the data");
  if (call->vm->dryRun) return 1;
  int64_t position[FREESTANDING_MOST_AXES] = {0};
  for (int64_t i = 0; i < s.indexes->elements; ++i) {
    int64_t index, to = 0;
    if (!indexAt(call, &s, i, sizes[axis], &index)) return 0;
    for (int32_t d = 0; d < rank; ++d) to = to * sizes[d] + (d == axis ? index : position[d]);
    update(&s, to, i, 1);
    for (int32_t d = rank; d-- > 0 && ++position[d] == shape[d];) position[d] = 0;
  }
  return 1;
}

int32_t dyn_freestanding_builtin_scatter_nd(FreestandingCall* call) {
  Scatter s = {0};
  if (!prepare(call, callNumber(call, 0, DYN_SCATTER_SET), &s)) return 0;
  const int32_t rank = s.data->object.rank, rows = (int32_t)s.indexes->object.rank - 1;
  const int64_t *shape = freestandingShape(s.indexes), *sizes = freestandingShape(s.data),
                *given = freestandingShape(s.updates);
  const int64_t depth = rows < 0 ? -1 : shape[rows];
  int fits = depth >= 0 && depth <= rank && s.updates->object.rank == rows + rank - depth;
  int64_t slice = 1, count = 1;
  for (int32_t i = 0; fits && i < rows; ++i) {
    fits = given[i] == shape[i];
    count *= shape[i];
  }
  for (int64_t i = depth; fits && i < rank; ++i) {
    fits = given[rows + i - depth] == sizes[i];
    slice *= sizes[i];
  }
  if (!fits) return callFault(call, DYN_BAD_INPUT, "the shapes of data, indexes and updates do not fit");
  for (int64_t i = 0; i < count && !call->vm->dryRun; ++i) {
    int64_t to = 0, index;
    for (int64_t d = 0; d < depth; ++d) {
      if (!indexAt(call, &s, i * depth + d, sizes[d], &index)) return 0;
      to = to * sizes[d] + index;
    }
    update(&s, to * slice, i * slice, slice);
  }
  return 1;
}
