/* Objects of the freestanding runtime: as those of the VM (vm/core/object/object.h), in blocks of
 * memory.c. */
#include "vm/freestanding/state.h"

uint32_t freestandingElementBytes(uint32_t dtype) {
  static const uint8_t kBytes[] = {
#define DYN_DTYPE(name, text, bits, kind, onnx) (bits) / 8,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
  };
  return kBytes[dtype];
}

int64_t* freestandingShape(const DynFreestandingTensor* tensor) { return (int64_t*)(uintptr_t)(tensor + 1); }

int32_t freestandingCount(DynFreestanding* vm, const int64_t* shape, int32_t rank, int64_t* count) {
  int64_t product = 1;
  int overflows = 0, empty = 0, negative = 0;
  for (int32_t axis = 0; axis < rank; ++axis) {
    negative |= shape[axis] < 0;
    empty |= shape[axis] == 0;
  }
  for (int32_t axis = 0; axis < rank && !empty; ++axis)
    overflows |= __builtin_mul_overflow(product, shape[axis], &product);
  if (negative || overflows)
    return freestandingFault(vm, DYN_ARITHMETIC, "a shape has a negative dim or too many elements");
  *count = empty ? 0 : product;
  return 1;
}

void freestandingRetain(DynFreestandingObject* object) {
  if (object && !(object->references & DYN_FREESTANDING_IMMORTAL)) ++object->references;
}

static DynFreestandingObject* mourn(DynFreestandingObject* object, DynFreestandingObject* dead) {
  if (!object || (object->references & DYN_FREESTANDING_IMMORTAL) || --object->references > 0) return dead;
  object->nextDead = dead;
  return object;
}

/* Without recursion: lists nest as deeply as they like. */
void freestandingRelease(DynFreestanding* vm, DynFreestandingObject* object) {
  DynFreestandingObject* dead = mourn(object, 0);
  while (dead) {
    DynFreestandingObject* gone = dead;
    dead = gone->nextDead;
    if (gone->kind == DYN_FREESTANDING_TENSOR) {
      DynFreestandingStorage* storage = ((DynFreestandingTensor*)gone)->storage;
      dead = mourn(storage ? &storage->object : 0, dead);
    } else if (gone->kind != DYN_FREESTANDING_STORAGE) {
      FreestandingItems* items = (FreestandingItems*)gone;
      for (int64_t i = 0; i < items->count; ++i) dead = mourn(items->items[i], dead);
      if (items->items && (char*)items->items != (char*)(items + 1)) freestandingFree(vm, items->items);
    }
    freestandingFree(vm, gone);
  }
}

static void initialise(DynFreestandingObject* object, uint32_t kind) {
  object->references = 1;
  object->kind = (uint8_t)kind;
  object->readOnly = object->dtype = object->rank = 0;
  object->nextDeadWord = 0;
}

DynFreestandingStorage* freestandingNewStorage(DynFreestanding* vm, uint64_t bytes, void* data) {
  const uint64_t own = data ? 0 : bytes;
  if (own > (uint64_t)INT64_MAX / 2) {
    freestandingFault(vm, DYN_MEMORY_LIMIT, "a tensor takes more than any memory");
    return 0;
  }
  DynFreestandingStorage* storage =
      freestandingAllocate(vm, sizeof(DynFreestandingStorage) + own, sizeof(DynFreestandingStorage));
  if (!storage) return 0;
  initialise(&storage->object, DYN_FREESTANDING_STORAGE);
  storage->sizeBytes = bytes;
  storage->dataWord = 0;
  storage->data = data ? data : (char*)(storage + 1);
  storage->borrowed = data != 0;
  storage->unknown = vm->dryRun != 0;
  return storage;
}

DynFreestandingTensor* freestandingNewView(DynFreestanding* vm, uint32_t dtype, int32_t rank,
                                           const int64_t* shape, const int64_t* strides, int64_t count,
                                           DynFreestandingStorage* storage, char* first) {
  const uint64_t words = (uint64_t)rank * (strides ? 2 : 1);
  DynFreestandingTensor* tensor =
      freestandingAllocate(vm, sizeof(DynFreestandingTensor) + words * sizeof(int64_t), 0);
  if (!tensor) return 0;
  initialise(&tensor->object, DYN_FREESTANDING_TENSOR);
  tensor->object.dtype = (uint8_t)dtype;
  tensor->object.rank = (uint8_t)rank;
  tensor->elements = count;
  tensor->dataWord = tensor->firstWord = tensor->storageWord = 0;
  tensor->first = first;
  tensor->data = strides ? 0 : first;
  tensor->storage = storage;
  if (storage) freestandingRetain(&storage->object);
  for (int32_t axis = 0; axis < rank; ++axis) {
    freestandingShape(tensor)[axis] = shape[axis];
    if (strides) freestandingShape(tensor)[rank + axis] = strides[axis];
  }
  return tensor;
}

DynFreestandingTensor* freestandingNewTensor(DynFreestanding* vm, uint32_t dtype, int32_t rank,
                                             const int64_t* shape) {
  int64_t count;
  if (!freestandingCount(vm, shape, rank, &count)) return 0;
  int64_t bytes;
  if (__builtin_mul_overflow(count, (int64_t)freestandingElementBytes(dtype), &bytes)) {
    freestandingFault(vm, DYN_ARITHMETIC, "the size of a tensor overflows");
    return 0;
  }
  DynFreestandingStorage* storage = freestandingNewStorage(vm, (uint64_t)bytes, 0);
  if (!storage) return 0;
  DynFreestandingTensor* tensor =
      freestandingNewView(vm, dtype, rank, shape, 0, count, storage, storage->data);
  freestandingRelease(vm, &storage->object); /* the tensor's alone, or gone */
  return tensor;
}

FreestandingItems* freestandingNewItems(DynFreestanding* vm, uint32_t kind, int64_t tag, int64_t capacity) {
  const int apart = kind == DYN_FREESTANDING_LIST;
  FreestandingItems* made =
      freestandingAllocate(vm, sizeof(FreestandingItems) + (uint64_t)(apart ? 0 : capacity) * 8, 0);
  if (!made) return 0;
  initialise(&made->object, kind);
  made->tag = tag;
  made->count = 0;
  made->capacity = apart ? 0 : capacity;
  made->itemsWord = 0;
  made->items = apart ? 0 : (DynFreestandingObject**)(made + 1);
  if (apart && !freestandingReserve(vm, made, capacity)) {
    freestandingRelease(vm, &made->object);
    return 0;
  }
  return made;
}

int32_t freestandingReserve(DynFreestanding* vm, FreestandingItems* list, int64_t capacity) {
  if (capacity <= list->capacity) return 1;
  if (list->capacity > 0 && capacity < list->capacity + list->capacity / 2)
    capacity = list->capacity + list->capacity / 2;
  DynFreestandingObject** items = freestandingAllocate(vm, (uint64_t)capacity * 8, 0);
  if (!items) return 0;
  for (int64_t i = 0; i < list->count; ++i) items[i] = list->items[i];
  if (list->items) freestandingFree(vm, list->items);
  list->items = items;
  list->capacity = capacity;
  return 1;
}

void freestandingCopyDense(const DynFreestandingTensor* tensor, char* to) {
  const uint32_t bytes = freestandingElementBytes(tensor->object.dtype);
  if (tensor->elements == 0) return;
  if (tensor->data) {
    memcpy(to, tensor->data, (size_t)tensor->elements * bytes);
    return;
  }
  const int32_t rank = tensor->object.rank;
  const int64_t *shape = freestandingShape(tensor), *strides = shape + rank;
  int64_t index[FREESTANDING_MOST_AXES] = {0};
  for (;;) {
    int64_t at = 0;
    for (int32_t axis = 0; axis < rank; ++axis) at += index[axis] * strides[axis];
    memcpy(to, tensor->first + at * (int64_t)bytes, bytes);
    to += bytes;
    int32_t axis = rank - 1;
    while (axis >= 0 && ++index[axis] == shape[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}
