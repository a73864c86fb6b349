#include "vm/freestanding/builtins.h"

int32_t callFault(FreestandingCall* call, int32_t status, const char* text) {
  freestandingFault(call->vm, status, call->name);
  freestandingSay(call->vm, ": ");
  freestandingSay(call->vm, text);
  return 0;
}

DynFreestandingObject* callObject(const FreestandingCall* call, int32_t index) {
  return index < call->arguments[0] ? call->vm->frame->objects[call->arguments[1 + index]] : 0;
}

DynFreestandingTensor* callStrided(FreestandingCall* call, int32_t index) {
  DynFreestandingObject* object = callObject(call, index);
  if (object && object->kind == DYN_FREESTANDING_TENSOR) return (DynFreestandingTensor*)object;
  callFault(call, DYN_BAD_INPUT, "a tensor is needed as argument ");
  freestandingSayNumber(call->vm, index);
  return 0;
}
DynFreestandingTensor* callTensor(FreestandingCall* call, int32_t index) {
  DynFreestandingTensor* tensor = callStrided(call, index);
  if (!tensor || tensor->data) return tensor;
  callFault(call, DYN_UNSUPPORTED, "the elements of a tensor do not lie side by side");
  return 0;
}

int32_t callNumber(const FreestandingCall* call, int32_t index, int32_t otherwise) {
  return index < call->numbers[0] ? call->numbers[1 + index] : otherwise;
}

int callKnows(const FreestandingCall* call, const DynFreestandingTensor* tensor) {
  return !call->vm->dryRun || !tensor->storage || !tensor->storage->unknown;
}

int32_t callCount(FreestandingCall* call, int64_t least, int64_t most, int64_t* count) {
  DynFreestanding* vm = call->vm;
  if (vm->choose && vm->choose(vm->chooseUser, DYN_I64, least, most, count)) return 1;
  return callFault(call, DYN_UNSUPPORTED,
                   "a dry run ends here: the size of a result depends on what elements hold");
}

static DynFreestandingTensor* resultThatIsThere(FreestandingCall* call, int32_t index, uint32_t dtype,
                                                int32_t rank, const int64_t* shape) {
  DynFreestandingObject* object = call->vm->frame->objects[call->results[1 + index]];
  DynFreestandingTensor* tensor = (DynFreestandingTensor*)object;
  int fits = object && object->kind == DYN_FREESTANDING_TENSOR && tensor->data && object->dtype == dtype &&
             object->rank == rank;
  for (int32_t axis = 0; fits && axis < rank; ++axis) fits = freestandingShape(tensor)[axis] == shape[axis];
  if (fits && !(object->readOnly && tensor->elements > 0)) return tensor;
  callFault(call, DYN_CHECK_FAILED, "a result has another type or shape, or is read-only");
  return 0;
}

DynFreestandingTensor* callResult(FreestandingCall* call, int32_t index, uint32_t dtype, int32_t rank,
                                  const int64_t* shape, int known) {
  DynFreestandingTensor* tensor = call->into ? resultThatIsThere(call, index, dtype, rank, shape)
                                             : freestandingNewTensor(call->vm, dtype, rank, shape);
  if (!tensor) return 0;
  if (!call->into) call->made[index] = tensor;
  if (tensor->storage && call->vm->dryRun) {
    /* Other tensors may lie in the same storage. */
    if (!known || call->into) tensor->storage->unknown = 1;
    if (known && !call->into) tensor->storage->unknown = 0;
  }
  return tensor;
}

void* callScratch(FreestandingCall* call, int64_t items, uint64_t itemBytes) {
  uint64_t bytes;
  if (__builtin_mul_overflow((uint64_t)items, itemBytes, &bytes)) bytes = ~(uint64_t)0;
  return freestandingAllocate(call->vm, bytes, 0);
}
void callReturn(FreestandingCall* call, void* scratch) {
  if (scratch) freestandingFree(call->vm, scratch);
}

int32_t callAxis(FreestandingCall* call, const DynFreestandingTensor* tensor, int64_t* axis) {
  const int64_t rank = tensor->object.rank;
  if (*axis < 0) *axis += rank;
  if (*axis >= 0 && *axis < rank) return 1;
  callFault(call, DYN_BAD_INPUT, "the axis is out of range for rank ");
  freestandingSayNumber(call->vm, rank);
  return 0;
}

FreestandingAxisView freestandingAxisView(const int64_t* shape, int32_t rank, int64_t axis) {
  FreestandingAxisView view = {1, shape[axis], 1};
  for (int32_t i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      view.outer = 0;
      view.inner = 1;
      return view;
    }
  }
  for (int32_t i = 0; i < rank; ++i) {
    if (i < axis) view.outer *= shape[i];
    if (i > axis) view.inner *= shape[i];
  }
  return view;
}
