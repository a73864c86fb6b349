/* Objects of the runtime in fixed memory: as those of the VM (vm/core/object/object.h), in blocks of
 * memory.c. */
#include "vm/freestanding/state.h"

uint32_t fixedElementBytes(uint32_t dtype) {
  static const uint8_t kBytes[] = {
#define DYN_DTYPE(name, text, bits, kind, onnx) (bits) / 8,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
  };
  return kBytes[dtype];
}

int64_t* fixedShape(const DynFixedTensor* tensor) { return (int64_t*)(uintptr_t)(tensor + 1); }

int32_t fixedCount(DynFixed* vm, const int64_t* shape, int32_t rank, int64_t* count) {
  int64_t product = 1;
  int overflows = 0, empty = 0, negative = 0;
  for (int32_t axis = 0; axis < rank; ++axis) {
    negative |= shape[axis] < 0;
    empty |= shape[axis] == 0;
  }
  for (int32_t axis = 0; axis < rank && !empty; ++axis)
    overflows |= __builtin_mul_overflow(product, shape[axis], &product);
  if (negative || overflows)
    return fixedFault(vm, DYN_ARITHMETIC, "a shape has a negative dim or too many elements");
  *count = empty ? 0 : product;
  return 1;
}

void fixedRetain(DynFixedObject* object) {
  if (object && !(object->references & DYN_FIXED_IMMORTAL)) ++object->references;
}

static DynFixedObject* mourn(DynFixedObject* object, DynFixedObject* dead) {
  if (!object || (object->references & DYN_FIXED_IMMORTAL) || --object->references > 0) return dead;
  object->nextDead = dead;
  return object;
}

/* Without recursion: lists nest as deeply as they like. */
void fixedRelease(DynFixed* vm, DynFixedObject* object) {
  DynFixedObject* dead = mourn(object, 0);
  while (dead) {
    DynFixedObject* gone = dead;
    dead = gone->nextDead;
    if (gone->kind == DYN_FIXED_TENSOR) {
      DynFixedStorage* storage = ((DynFixedTensor*)gone)->storage;
      dead = mourn(storage ? &storage->object : 0, dead);
    } else if (gone->kind != DYN_FIXED_STORAGE) {
      FixedItems* items = (FixedItems*)gone;
      for (int64_t i = 0; i < items->count; ++i) dead = mourn(items->items[i], dead);
      if (items->items && (char*)items->items != (char*)(items + 1)) fixedFree(vm, items->items);
    }
    fixedFree(vm, gone);
  }
}

static void initialise(DynFixedObject* object, uint32_t kind) {
  object->references = 1;
  object->kind = (uint8_t)kind;
  object->readOnly = object->dtype = object->rank = 0;
  object->nextDeadWord = 0;
}

DynFixedStorage* fixedNewStorage(DynFixed* vm, uint64_t bytes, void* data) {
  const uint64_t own = data ? 0 : bytes;
  if (own > (uint64_t)INT64_MAX / 2) {
    fixedFault(vm, DYN_MEMORY_LIMIT, "a tensor takes more than any memory");
    return 0;
  }
  DynFixedStorage* storage = fixedAllocate(vm, sizeof(DynFixedStorage) + own, sizeof(DynFixedStorage));
  if (!storage) return 0;
  initialise(&storage->object, DYN_FIXED_STORAGE);
  storage->sizeBytes = bytes;
  storage->dataWord = 0;
  storage->data = data ? data : (char*)(storage + 1);
  storage->borrowed = data != 0;
  storage->unknown = vm->rehearses != 0;
  return storage;
}

DynFixedTensor* fixedNewView(DynFixed* vm, uint32_t dtype, int32_t rank, const int64_t* shape,
                             const int64_t* strides, int64_t count, DynFixedStorage* storage, char* first) {
  const uint64_t words = (uint64_t)rank * (strides ? 2 : 1);
  DynFixedTensor* tensor = fixedAllocate(vm, sizeof(DynFixedTensor) + words * sizeof(int64_t), 0);
  if (!tensor) return 0;
  initialise(&tensor->object, DYN_FIXED_TENSOR);
  tensor->object.dtype = (uint8_t)dtype;
  tensor->object.rank = (uint8_t)rank;
  tensor->elements = count;
  tensor->dataWord = tensor->firstWord = tensor->storageWord = 0;
  tensor->first = first;
  tensor->data = strides ? 0 : first;
  tensor->storage = storage;
  if (storage) fixedRetain(&storage->object);
  for (int32_t axis = 0; axis < rank; ++axis) {
    fixedShape(tensor)[axis] = shape[axis];
    if (strides) fixedShape(tensor)[rank + axis] = strides[axis];
  }
  return tensor;
}

DynFixedTensor* fixedNewTensor(DynFixed* vm, uint32_t dtype, int32_t rank, const int64_t* shape) {
  int64_t count;
  if (!fixedCount(vm, shape, rank, &count)) return 0;
  int64_t bytes;
  if (__builtin_mul_overflow(count, (int64_t)fixedElementBytes(dtype), &bytes)) {
    fixedFault(vm, DYN_ARITHMETIC, "the size of a tensor overflows");
    return 0;
  }
  DynFixedStorage* storage = fixedNewStorage(vm, (uint64_t)bytes, 0);
  if (!storage) return 0;
  DynFixedTensor* tensor = fixedNewView(vm, dtype, rank, shape, 0, count, storage, storage->data);
  fixedRelease(vm, &storage->object); /* the tensor's alone, or gone */
  return tensor;
}

FixedItems* fixedNewItems(DynFixed* vm, uint32_t kind, int64_t tag, int64_t capacity) {
  const int apart = kind == DYN_FIXED_LIST;
  FixedItems* made = fixedAllocate(vm, sizeof(FixedItems) + (uint64_t)(apart ? 0 : capacity) * 8, 0);
  if (!made) return 0;
  initialise(&made->object, kind);
  made->tag = tag;
  made->count = 0;
  made->capacity = apart ? 0 : capacity;
  made->itemsWord = 0;
  made->items = apart ? 0 : (DynFixedObject**)(made + 1);
  if (apart && !fixedReserve(vm, made, capacity)) {
    fixedRelease(vm, &made->object);
    return 0;
  }
  return made;
}

int32_t fixedReserve(DynFixed* vm, FixedItems* list, int64_t capacity) {
  if (capacity <= list->capacity) return 1;
  if (list->capacity > 0 && capacity < list->capacity + list->capacity / 2)
    capacity = list->capacity + list->capacity / 2;
  DynFixedObject** items = fixedAllocate(vm, (uint64_t)capacity * 8, 0);
  if (!items) return 0;
  for (int64_t i = 0; i < list->count; ++i) items[i] = list->items[i];
  if (list->items) fixedFree(vm, list->items);
  list->items = items;
  list->capacity = capacity;
  return 1;
}

void fixedCopyDense(const DynFixedTensor* tensor, char* to) {
  const uint32_t bytes = fixedElementBytes(tensor->object.dtype);
  if (tensor->elements == 0) return;
  if (tensor->data) {
    memcpy(to, tensor->data, (size_t)tensor->elements * bytes);
    return;
  }
  const int32_t rank = tensor->object.rank;
  const int64_t *shape = fixedShape(tensor), *strides = shape + rank;
  int64_t index[FIXED_MOST_AXES] = {0};
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
