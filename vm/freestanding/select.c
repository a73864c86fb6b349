/* nonzero, compress, range, cumsum. */
#include "vm/freestanding/builtins.h"

static int isZero(uint32_t dtype, uint32_t bytes, const char* element) {
  if (freestandingClass(dtype) == FREESTANDING_REAL) return freestandingReal(dtype, element) == 0;
  for (uint32_t i = 0; i < bytes; ++i)
    if (element[i] != 0) return 0;
  return 1;
}

/* The indexes of a flat place into columns of an array [rank, count]. */
static void writeIndexes(const DynFreestandingTensor* x, int64_t place, int64_t* column, int64_t count) {
  for (int32_t axis = x->object.rank; axis-- > 0;) {
    const int64_t size = freestandingShape(x)[axis];
    column[axis * count] = place % size;
    place /= size;
  }
}

int32_t dyn_freestanding_builtin_nonzero(FreestandingCall* call) {
  const DynFreestandingTensor* x = callTensor(call, 0);
  if (!x) return 0;
  const uint32_t dtype = x->object.dtype, bytes = freestandingElementBytes(dtype);
  if (!freestandingIsNumber(dtype)) return callFault(call, DYN_UNSUPPORTED, "this element type");
  const int known = callKnows(call, x);
  int64_t count = 0;
  for (int64_t i = 0; known && i < x->elements; ++i) count += !isZero(dtype, bytes, x->data + i * bytes);
  if (!known && !callCount(call, 0, x->elements, &count)) return 0;
  const int64_t shape[2] = {x->object.rank, count};
  DynFreestandingTensor* made = callResult(call, 0, DYN_I64, 2, shape, known);
  if (!made || !known) return made != 0;
  int64_t* column = (int64_t*)made->data;
  for (int64_t i = 0; i < x->elements; ++i)
    if (!isZero(dtype, bytes, x->data + i * bytes)) writeIndexes(x, i, column++, count);
  return 1;
}

int32_t dyn_freestanding_builtin_compress(FreestandingCall* call) {
  const DynFreestandingTensor* x = callTensor(call, 0);
  const DynFreestandingTensor* condition = x ? callTensor(call, 1) : 0;
  if (!condition) return 0;
  if (condition->object.dtype != DYN_BOOL || condition->object.rank != 1)
    return callFault(call, DYN_BAD_INPUT, "the condition must be bool of rank 1");
  int64_t axis = callNumber(call, 0, DYN_AXIS_FLAT), shape[FREESTANDING_MOST_AXES];
  const int flat = axis == DYN_AXIS_FLAT;
  FreestandingAxisView view = {1, x->elements, 1};
  if (!flat) {
    if (!callAxis(call, x, &axis)) return 0;
    view = freestandingAxisView(freestandingShape(x), x->object.rank, axis);
    for (int32_t i = 0; i < x->object.rank; ++i) shape[i] = freestandingShape(x)[i];
  }
  const int known = callKnows(call, condition);
  const char* flags = condition->data;
  int64_t kept = 0;
  for (int64_t i = 0; known && i < condition->elements; ++i) {
    if (flags[i] && i >= view.size)
      return callFault(call, DYN_OUT_OF_RANGE, "the condition holds behind the end of the axis");
    kept += flags[i] != 0;
  }
  const int64_t most = condition->elements < view.size ? condition->elements : view.size;
  if (!known && !callCount(call, 0, most, &kept)) return 0;
  shape[flat ? 0 : axis] = kept;
  DynFreestandingTensor* made = callResult(call, 0, x->object.dtype, flat ? 1 : x->object.rank, shape, 0);
  if (!made || call->vm->dryRun) return made != 0;
  const uint64_t slice = (uint64_t)view.inner * freestandingElementBytes(x->object.dtype);
  char* to = made->data;
  for (int64_t outer = 0; outer < view.outer && slice > 0 && kept > 0; ++outer) {
    for (int64_t i = 0; i < condition->elements; ++i) {
      if (!flags[i]) continue;
      memcpy(to, x->data + (uint64_t)(outer * view.size + i) * slice, slice);
      to += slice;
    }
  }
  return 1;
}

/* --- range: start + i * delta, not a running sum: no error builds up */

/* How many steps of delta lead from 0 beyond distance, as a real. */
static int32_t realSteps(FreestandingCall* call, double distance, double delta, int64_t* count) {
  const double steps = distance / delta;
  if (steps != steps || steps > 9e18)
    return callFault(call, DYN_ARITHMETIC, "the number of elements is out of range");
  *count = 0;
  if (steps > 0) {
    *count = (int64_t)steps;
    *count += (double)*count < steps;
  }
  return 1;
}
static int32_t integerSteps(FreestandingCall* call, int64_t start, int64_t limit, int64_t delta,
                            int64_t* count) {
  int64_t distance;
  if (__builtin_sub_overflow(limit, start, &distance) || (distance == INT64_MIN && delta == -1))
    return callFault(call, DYN_ARITHMETIC, "the number of elements is out of range");
  *count = distance / delta;
  *count += distance % delta != 0 && (distance < 0) == (delta < 0);
  if (*count < 0) *count = 0;
  return 1;
}

static void fillRange(DynFreestandingTensor* made, const DynFreestandingTensor* start,
                      const DynFreestandingTensor* delta) {
  const uint32_t dtype = made->object.dtype;
  for (int64_t i = 0; i < made->elements; ++i) {
    if (dtype == DYN_F32)
      ((float*)made->data)[i] = *(const float*)start->data + (float)i * *(const float*)delta->data;
    else if (dtype == DYN_F64)
      ((double*)made->data)[i] = *(const double*)start->data + (double)i * *(const double*)delta->data;
    else if (dtype == DYN_I64)
      ((int64_t*)made->data)[i] = freestandingInteger(start, 0) + i * freestandingInteger(delta, 0);
    else if (dtype == DYN_I32)
      ((int32_t*)made->data)[i] =
          (int32_t)(freestandingInteger(start, 0) + i * freestandingInteger(delta, 0));
    else
      ((int16_t*)made->data)[i] =
          (int16_t)(freestandingInteger(start, 0) + i * freestandingInteger(delta, 0));
  }
}

int32_t dyn_freestanding_builtin_range(FreestandingCall* call) {
  const DynFreestandingTensor* given[3];
  int known = 1;
  for (int32_t i = 0; i < 3; ++i) {
    given[i] = callTensor(call, i);
    if (!given[i]) return 0;
    if (given[i]->elements != 1 || given[i]->object.dtype != given[0]->object.dtype)
      return callFault(call, DYN_BAD_INPUT, "one number is needed, all three of one type");
    known &= callKnows(call, given[i]);
  }
  if (!known)
    return callFault(call, DYN_UNSUPPORTED, "a dry run ends here: the number of elements depends on values");
  const uint32_t dtype = given[0]->object.dtype;
  int64_t count = 0;
  if (dtype == DYN_F32 || dtype == DYN_F64) {
    double real[3];
    for (int32_t i = 0; i < 3; ++i) real[i] = freestandingReal(dtype, given[i]->data);
    if (real[2] == 0) return callFault(call, DYN_ARITHMETIC, "delta is 0");
    if (!realSteps(call, real[1] - real[0], real[2], &count)) return 0;
  } else if (dtype == DYN_I64 || dtype == DYN_I32 || dtype == DYN_I16) {
    const int64_t delta = freestandingInteger(given[2], 0);
    if (delta == 0) return callFault(call, DYN_ARITHMETIC, "delta is 0");
    if (!integerSteps(call, freestandingInteger(given[0], 0), freestandingInteger(given[1], 0), delta,
                      &count))
      return 0;
  } else {
    return callFault(call, DYN_UNSUPPORTED, "this element type");
  }
  DynFreestandingTensor* made = callResult(call, 0, dtype, 1, &count, 1);
  if (made) fillRange(made, given[0], given[2]);
  return made != 0;
}

/* --- cumsum */

typedef struct Running {
  const char* from;
  char* to;
  int64_t size, strideBytes; /* negative: from behind */
  uint32_t dtype;
  int exclusive, product;
} Running;

/* In a register, so that what is read may be where it is written. */
#define FREESTANDING_RUN(name, sumType, first, read, write)                 \
  static void name(const Running* run) {                                    \
    const char* from = run->from;                                           \
    char* to = run->to;                                                     \
    sumType sum = first;                                                    \
    for (int64_t i = 0; i < run->size; ++i) {                               \
      const sumType before = sum, value = read;                             \
      sum = run->product ? (sumType)(sum * value) : (sumType)(sum + value); \
      const sumType given = run->exclusive ? before : sum;                  \
      write;                                                                \
      from += run->strideBytes;                                             \
      to += run->strideBytes;                                               \
    }                                                                       \
  }
static uint64_t integerAt(uint32_t dtype, const char* element) {
  switch (freestandingElementBytes(dtype)) {
    case 1:
      return *(const uint8_t*)element;
    case 2:
      return *(const uint16_t*)element;
    case 4:
      return *(const uint32_t*)element;
    default:
      return *(const uint64_t*)element;
  }
}
/* What is above the element's bits never comes down. */
static void setInteger(uint32_t dtype, char* element, uint64_t value) {
  memcpy(element, &value, freestandingElementBytes(dtype));
}
FREESTANDING_RUN(runIntegers, uint64_t, (uint64_t)run->product, integerAt(run->dtype, from),
                 setInteger(run->dtype, to, given))
FREESTANDING_RUN(run32, float, (float)run->product, *(const float*)from, *(float*)to = given)
FREESTANDING_RUN(run64, double, (double)run->product, *(const double*)from, *(double*)to = given)
FREESTANDING_RUN(runHalves, float, (float)run->product, (float)freestandingReal(run->dtype, from),
                 freestandingSetHalf(run->dtype, to, given))

int32_t dyn_freestanding_builtin_cumsum(FreestandingCall* call) {
  const DynFreestandingTensor* x = callTensor(call, 0);
  if (!x) return 0;
  int64_t axis = call->scalarCount > 0 ? call->scalars[0] : 0;
  if (callObject(call, 1)) {
    const DynFreestandingTensor* where = callTensor(call, 1);
    if (!where) return 0;
    if (where->elements != 1 || (where->object.dtype != DYN_I64 && where->object.dtype != DYN_I32))
      return callFault(call, DYN_BAD_INPUT, "the axis must be one i64 or i32");
    if (callKnows(call, where)) axis = freestandingInteger(where, 0); /* no memory depends on it */
  }
  if (!callAxis(call, x, &axis)) return 0;
  const uint32_t dtype = x->object.dtype, bytes = freestandingElementBytes(dtype);
  if (!freestandingIsNumber(dtype)) return callFault(call, DYN_UNSUPPORTED, "this element type");
  DynFreestandingTensor* made = callResult(call, 0, dtype, x->object.rank, freestandingShape(x), 0);
  if (!made || call->vm->dryRun) return made != 0;
  const FreestandingAxisView view = freestandingAxisView(freestandingShape(x), x->object.rank, axis);
  const int32_t bits = callNumber(call, 0, 0);
  const int64_t stride = view.inner * bytes, reverse = bits >> 1 & 1;
  for (int64_t row = 0; row < view.outer * view.inner; ++row) {
    const int64_t begin = row / view.inner * view.size * view.inner + row % view.inner;
    const int64_t at = begin * bytes + (reverse ? (view.size - 1) * stride : 0);
    const Running run = {x->data + at, made->data + at, view.size,    reverse ? -stride : stride,
                         dtype,        bits & 1,        bits >> 2 & 1};
    if (freestandingClass(dtype) != FREESTANDING_REAL)
      runIntegers(&run);
    else if (dtype == DYN_F32)
      run32(&run);
    else if (dtype == DYN_F64)
      run64(&run);
    else
      runHalves(&run);
  }
  return 1;
}
