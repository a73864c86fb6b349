/* Hand-written kernels of the freestanding runtime: what a call is given, and what they share. Each does
 * what the VM's kernel of that name does (vm/kernels), with the same bits; tests run programs in both.
 *
 * A result whose size depends on values: in a dry run, where the values are not known, callCount asks for
 * the size, and the caller of the dry run tries all that can be. So all memory of a call must follow from
 * sizes and from such counts alone, and is taken in the same order with values and without. */
#ifndef DYN_FREESTANDING_BUILTINS_H
#define DYN_FREESTANDING_BUILTINS_H

#include "vm/freestanding/state.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

enum { FREESTANDING_MADE = 4 };

typedef struct FreestandingCall {
  DynFreestanding* vm;
  const char* name;
  const int32_t *results, *arguments, *numbers; /* how many, then registers or numbers */
  const int64_t* scalars;
  int32_t scalarCount;
  int32_t into; /* the results are there */
  void* made[FREESTANDING_MADE];
} FreestandingCall;

/* Always 0. */
int32_t callFault(FreestandingCall* call, int32_t status, const char* text);

DynFreestandingObject* callObject(const FreestandingCall* call, int32_t index); /* null: none is given */
/* Null: after a fault, as it is no tensor, or (but for callStrided) not dense. */
DynFreestandingTensor* callTensor(FreestandingCall* call, int32_t index);
DynFreestandingTensor* callStrided(FreestandingCall* call, int32_t index);
int32_t callNumber(const FreestandingCall* call, int32_t index, int32_t otherwise);

/* Whether elements are what they say: in a dry run only those that no kernel has written. */
int callKnows(const FreestandingCall* call, const DynFreestandingTensor* tensor);
/* In a dry run: a size that depends on values. 0: after a fault, as nobody can tell. */
int32_t callCount(FreestandingCall* call, int64_t least, int64_t most, int64_t* count);
/* Made here, or there already and then of this shape; `known`: its elements will be. Null after a fault. */
DynFreestandingTensor* callResult(FreestandingCall* call, int32_t index, uint32_t dtype, int32_t rank,
                                  const int64_t* shape, int known);

/* Memory until callReturn, the last taken first. */
void* callScratch(FreestandingCall* call, int64_t items, uint64_t itemBytes);
void callReturn(FreestandingCall* call, void* scratch);

/* Negative counts from the end. 1, or 0 after a fault. */
int32_t callAxis(FreestandingCall* call, const DynFreestandingTensor* tensor, int64_t* axis);

/* A shape seen as [outer, size, inner]; without elements as [0, size, 1]. */
typedef struct FreestandingAxisView {
  int64_t outer, size, inner;
} FreestandingAxisView;
FreestandingAxisView freestandingAxisView(const int64_t* shape, int32_t rank, int64_t axis);

/* --- elements (elements.c) */

enum FreestandingClass { FREESTANDING_UNSIGNED, FREESTANDING_SIGNED, FREESTANDING_REAL, FREESTANDING_OTHER };
enum FreestandingClass freestandingClass(uint32_t dtype);
/* Numbers there is arithmetic for: integers, bool, f16, bf16, f32, f64. */
int freestandingIsNumber(uint32_t dtype);
/* i64 or i32, bool and other integers, too. */
int64_t freestandingInteger(const DynFreestandingTensor* tensor, int64_t index);
/* f16, bf16, f32 and f64 exactly. */
double freestandingReal(uint32_t dtype, const char* element);
/* Of f16 and bf16: rounded. */
void freestandingSetHalf(uint32_t dtype, char* element, float value);
/* Unsigned numbers in the order of the elements: NaN last, -0 equal to +0. */
uint64_t freestandingRank(uint32_t dtype, const char* element);
/* What an element is that is updated by another; `how`: DYN_SCATTER_. */
void freestandingUpdate(uint32_t dtype, int32_t how, char* element, const char* by);

/* --- order.c */

/* Places of `count` elements `strideBytes` apart, to be taken in order: equal ones by their place. */
typedef struct FreestandingOrder {
  uint32_t dtype;
  const char* first;
  uint64_t strideBytes;
  uint64_t flip; /* ~0: the largest first */
  uint32_t* places;
  uint32_t left;
} FreestandingOrder;
void freestandingOrderBegin(FreestandingOrder* order, uint32_t count);
uint32_t freestandingOrderNext(FreestandingOrder* order);

#endif
