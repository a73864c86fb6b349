/* Elements of any type: as integers, as reals, in their order, updated by another. */
#include "vm/freestanding/builtins.h"
#include "vm/freestanding/soft_real.h"

enum FreestandingClass freestandingClass(uint32_t dtype) {
  static const uint8_t kClasses[] = {
#define FREESTANDING_CLASS_boolean FREESTANDING_UNSIGNED
#define FREESTANDING_CLASS_natural FREESTANDING_UNSIGNED
#define FREESTANDING_CLASS_integer FREESTANDING_SIGNED
#define FREESTANDING_CLASS_real FREESTANDING_REAL
#define FREESTANDING_CLASS_complex FREESTANDING_OTHER
#define FREESTANDING_CLASS_text FREESTANDING_OTHER
#define DYN_DTYPE(name, text, bits, kind, onnx) FREESTANDING_CLASS_##kind,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
  };
  return (enum FreestandingClass)kClasses[dtype];
}

int freestandingIsNumber(uint32_t dtype) {
  const enum FreestandingClass kind = freestandingClass(dtype);
  return kind != FREESTANDING_OTHER && (kind != FREESTANDING_REAL || freestandingElementBytes(dtype) > 1);
}

/* The bits as an integer of 64 bits, with the sign of what has one. */
static uint64_t bitsOf(uint32_t dtype, const char* element) {
  const int isSigned = freestandingClass(dtype) == FREESTANDING_SIGNED;
  switch (freestandingElementBytes(dtype)) {
    case 1:
      return isSigned ? (uint64_t)(int64_t) * (const int8_t*)element : *(const uint8_t*)element;
    case 2:
      return isSigned ? (uint64_t)(int64_t) * (const int16_t*)element : *(const uint16_t*)element;
    case 4:
      return isSigned ? (uint64_t)(int64_t) * (const int32_t*)element : *(const uint32_t*)element;
    default:
      return *(const uint64_t*)element;
  }
}
static void setBits(uint32_t dtype, char* element, uint64_t bits) {
  switch (freestandingElementBytes(dtype)) {
    case 1:
      *(uint8_t*)element = (uint8_t)bits;
      return;
    case 2:
      *(uint16_t*)element = (uint16_t)bits;
      return;
    case 4:
      *(uint32_t*)element = (uint32_t)bits;
      return;
    default:
      *(uint64_t*)element = bits;
  }
}

int64_t freestandingInteger(const DynFreestandingTensor* tensor, int64_t index) {
  const uint32_t dtype = tensor->object.dtype;
  return (int64_t)bitsOf(dtype, tensor->data + index * (int64_t)freestandingElementBytes(dtype));
}

typedef union Real32 {
  uint32_t bits;
  float value;
} Real32;

static float halfOf(uint32_t dtype, const char* element) {
  const uint16_t bits = *(const uint16_t*)element;
  Real32 real;
  real.bits = dtype == DYN_BF16 ? (uint32_t)bits << 16 : soft16To32(bits);
  return real.value;
}
void freestandingSetHalf(uint32_t dtype, char* element, float value) {
  Real32 real;
  real.value = value;
  *(uint16_t*)element = dtype == DYN_BF16 ? soft32ToBrief(real.bits) : soft32To16(real.bits);
}

double freestandingReal(uint32_t dtype, const char* element) {
  if (dtype == DYN_F64) return *(const double*)element;
  return dtype == DYN_F32 ? *(const float*)element : halfOf(dtype, element);
}

static uint64_t rankOfReal(uint64_t bits, uint64_t sign, uint64_t infinity) {
  const uint64_t magnitude = bits & (sign - 1);
  if (magnitude > infinity) return ~(uint64_t)0;
  return bits & sign ? sign - magnitude : sign + magnitude;
}
uint64_t freestandingRank(uint32_t dtype, const char* element) {
  const uint64_t bits = bitsOf(dtype, element);
  switch (freestandingClass(dtype)) {
    case FREESTANDING_SIGNED:
      return bits ^ (uint64_t)1 << 63;
    case FREESTANDING_REAL:
      if (dtype == DYN_F64) return rankOfReal(bits, (uint64_t)1 << 63, (uint64_t)0x7FF << 52);
      if (dtype == DYN_F32) return rankOfReal(bits, (uint64_t)1 << 31, 0x7F800000u);
      return rankOfReal(bits, (uint64_t)1 << 15, dtype == DYN_BF16 ? 0x7F80u : 0x7C00u);
    default:
      return bits;
  }
}

static uint64_t updatedInteger(uint32_t dtype, int32_t how, uint64_t old, uint64_t by) {
  if (how == DYN_SCATTER_ADD) return old + by;
  if (how == DYN_SCATTER_MULTIPLY) return old * by;
  const int smaller = freestandingClass(dtype) == FREESTANDING_SIGNED ? (int64_t)by < (int64_t)old : by < old;
  return smaller == (how == DYN_SCATTER_MINIMUM) ? by : old;
}
/* A NaN that is there stays, one that comes is taken. */
#define FREESTANDING_UPDATED(name, real)                                  \
  static real name(int32_t how, real old, real by) {                      \
    if (how == DYN_SCATTER_ADD) return old + by;                          \
    if (how == DYN_SCATTER_MULTIPLY) return old * by;                     \
    if (old != old) return old;                                           \
    return (how == DYN_SCATTER_MINIMUM ? old < by : old > by) ? old : by; \
  }
FREESTANDING_UPDATED(updated32, float)
FREESTANDING_UPDATED(updated64, double)

void freestandingUpdate(uint32_t dtype, int32_t how, char* element, const char* by) {
  if (how == DYN_SCATTER_SET) {
    memcpy(element, by, freestandingElementBytes(dtype));
    return;
  }
  /* Of truth values a sum is whether any holds, a product whether both do. */
  if (dtype == DYN_BOOL)
    how = how == DYN_SCATTER_ADD || how == DYN_SCATTER_MAXIMUM ? DYN_SCATTER_MAXIMUM : DYN_SCATTER_MINIMUM;
  if (freestandingClass(dtype) != FREESTANDING_REAL)
    setBits(dtype, element, updatedInteger(dtype, how, bitsOf(dtype, element), bitsOf(dtype, by)));
  else if (dtype == DYN_F64)
    *(double*)element = updated64(how, *(const double*)element, *(const double*)by);
  else if (dtype == DYN_F32)
    *(float*)element = updated32(how, *(const float*)element, *(const float*)by);
  else
    freestandingSetHalf(dtype, element, updated32(how, halfOf(dtype, element), halfOf(dtype, by)));
}
