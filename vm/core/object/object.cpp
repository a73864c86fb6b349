#include "vm/core/object/object.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "vm/base/checked.h"
#include "vm/core/object/strided.h"

namespace dyn::vm {
namespace {

alignas(64) std::byte kEmpty[64];

template <typename T, typename... Arguments>
T* make(MemoryPool* pool, uint64_t extraBytes, dyn_status& why, Arguments&&... arguments) {
  void* memory = pool->allocate(sizeof(T) + extraBytes, why);
  return memory ? new (memory) T(pool, std::forward<Arguments>(arguments)...) : nullptr;
}

void freeStorage(Storage* storage) {
  if (storage->ownsStrings) {
    auto** elements = static_cast<StringElement**>(storage->data);
    for (uint64_t i = 0; i < storage->sizeBytes / sizeof(void*); ++i) free(elements[i]);
  }
  if (storage->dataPool) storage->dataPool->deallocate(storage->data);
  if (storage->release) storage->release(storage->user, storage->data);
}

// Calls visit(child) for every object that `object` holds; null children are left out.
template <typename Visitor>
void visitChildren(Object* object, Visitor&& visit) {
  auto visitAll = [&](Object** items, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      if (items[i]) visit(items[i]);
  };
  switch (object->kind) {
    case ObjectKind::storage:
      break;
    case ObjectKind::tensor:
      if (Storage* storage = static_cast<Tensor*>(object)->storage) visit(static_cast<Object*>(storage));
      break;
    case ObjectKind::tuple:
      visitAll(static_cast<Tuple*>(object)->fields(), static_cast<Tuple*>(object)->count);
      break;
    case ObjectKind::list:
      visitAll(static_cast<List*>(object)->items, static_cast<List*>(object)->count);
      break;
    case ObjectKind::closure:
      visitAll(static_cast<Closure*>(object)->captures(), static_cast<Closure*>(object)->count);
      break;
  }
}

void freeObject(Object* object) {
  MemoryPool* pool = object->pool;
  if (object->kind == ObjectKind::storage) freeStorage(static_cast<Storage*>(object));
  if (object->kind == ObjectKind::list) pool->deallocate(static_cast<List*>(object)->items);
  pool->deallocate(object);
}

}  // namespace

void destroy(Object* object) {
  Object* dead = object;
  dead->nextDead = nullptr;
  while (dead) {
    Object* current = dead;
    dead = dead->nextDead;
    visitChildren(current, [&](Object* child) {
      const uint32_t references = child->references.load(std::memory_order_acquire);
      if (references & kImmortal) return;
      if (references != 1 && child->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      child->nextDead = dead;
      dead = child;
    });
    freeObject(current);
  }
}

void makeImmortal(Object* object, Object*& immortals) {
  // New ones are pushed in front of the list and visited until the old front is reached.
  if (!object || (object->references.load() & kImmortal)) return;
  Object* work = object;
  object->references.fetch_or(kImmortal);
  object->nextDead = nullptr;
  while (work) {
    Object* current = work;
    work = work->nextDead;
    visitChildren(current, [&](Object* child) {
      if (child->references.load() & kImmortal) return;
      child->references.fetch_or(kImmortal);
      child->nextDead = work;
      work = child;
    });
    current->readOnly = true;
    current->nextDead = immortals;
    immortals = current;
  }
}

void freeImmortals(Object* immortals) {
  while (immortals) {
    Object* next = immortals->nextDead;
    freeObject(immortals);
    immortals = next;
  }
}

Storage* newStorage(MemoryPool* pool, uint64_t sizeBytes, dyn_status& why) {
  Storage* storage = make<Storage>(pool, 0, why);
  if (!storage) return nullptr;
  storage->sizeBytes = sizeBytes;
  storage->data = kEmpty;
  storage->unknown = pool->rehearsal();
  if (sizeBytes == 0) return storage;
  storage->data = pool->allocate(sizeBytes, why, MemoryUse::data);
  if (!storage->data) {
    release(storage);
    return nullptr;
  }
  storage->dataPool = pool;
  return storage;
}

Storage* borrowStorage(MemoryPool* pool, const void* data, uint64_t sizeBytes,
                       void (*releaseData)(void*, const void*), void* user, dyn_status& why) {
  Storage* storage = make<Storage>(pool, 0, why);
  if (!storage) return nullptr;
  storage->sizeBytes = sizeBytes;
  storage->data = const_cast<void*>(data);
  storage->release = releaseData;
  storage->user = user;
  return storage;
}

namespace {

// Takes over a count of the storage, but on failure.
Tensor* viewOwning(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape,
                   int64_t elementCount, Storage* storage, void* data, dyn_status& why) {
  Tensor* tensor = make<Tensor>(pool, rank * sizeof(int64_t), why, dtype, static_cast<uint8_t>(rank));
  if (!tensor) return nullptr;
  std::copy_n(shape, rank, tensor->shape());
  tensor->elementCount = elementCount;
  tensor->data = tensor->first = static_cast<std::byte*>(elementCount == 0 ? kEmpty : data);
  tensor->storage = storage;
  return tensor;
}

}  // namespace

Tensor* newView(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape, int64_t elementCount,
                Storage* storage, void* data, dyn_status& why) {
  Tensor* tensor = viewOwning(pool, dtype, rank, shape, elementCount, storage, data, why);
  if (tensor) retain(storage);
  return tensor;
}

Tensor* newStridedView(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape,
                       const int64_t* strides, int64_t elementCount, Storage* storage, void* first,
                       dyn_status& why) {
  if (isRowMajor({shape, rank}, {strides, rank}))
    return newView(pool, dtype, rank, shape, elementCount, storage, first, why);
  return newApart(pool, dtype, rank, shape, strides, elementCount, storage, first, why);
}

Tensor* newApart(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape,
                 const int64_t* strides, int64_t elementCount, Storage* storage, void* first,
                 dyn_status& why) {
  Tensor* tensor = make<Tensor>(pool, 2 * rank * sizeof(int64_t), why, dtype, static_cast<uint8_t>(rank));
  if (!tensor) return nullptr;
  std::copy_n(shape, rank, tensor->shape());
  std::copy_n(strides, rank, tensor->shape() + rank);
  tensor->elementCount = elementCount;
  tensor->first = static_cast<std::byte*>(first);
  retain(storage);
  tensor->storage = storage;
  return tensor;
}

Tensor* newTensor(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape, dyn_status& why) {
  int64_t count = 0, bytes = 0;
  if (!checkedElementCount(shape, rank, count) || !checkedMul(count, sizeBytes(dtype), bytes)) {
    why = DYN_ARITHMETIC;
    return nullptr;
  }
  if (dtype == DataType::string && pool->rehearsal()) {  // its elements are memory of their own
    why = DYN_UNSUPPORTED;
    return nullptr;
  }
  Ref<Storage> storage(newStorage(pool, static_cast<uint64_t>(bytes), why));
  if (!storage) return nullptr;
  if (dtype == DataType::string) {
    memset(storage->data, 0, static_cast<size_t>(bytes));
    storage->ownsStrings = true;
  }
  Tensor* tensor = viewOwning(pool, dtype, rank, shape, count, storage.get(), storage->data, why);
  if (tensor) storage.take();
  return tensor;
}

Tuple* newTuple(MemoryPool* pool, int32_t tag, uint32_t count, Object* const* fields, dyn_status& why) {
  Tuple* tuple = make<Tuple>(pool, count * sizeof(Object*), why);
  if (!tuple) return nullptr;
  tuple->tag = tag;
  tuple->count = count;
  for (uint32_t i = 0; i < count; ++i) retain(tuple->fields()[i] = fields[i]);
  return tuple;
}

Closure* newClosure(MemoryPool* pool, uint32_t function, uint32_t count, Object* const* captures,
                    dyn_status& why) {
  Closure* closure = make<Closure>(pool, count * sizeof(Object*), why);
  if (!closure) return nullptr;
  closure->function = function;
  closure->count = count;
  for (uint32_t i = 0; i < count; ++i) retain(closure->captures()[i] = captures[i]);
  return closure;
}

bool reserveList(List* list, int64_t capacity, dyn_status& why) {
  if (capacity <= list->capacity) return true;
  capacity = std::max({capacity, list->capacity * 2, int64_t{8}});
  auto* items =
      static_cast<Object**>(list->pool->allocate(static_cast<uint64_t>(capacity) * sizeof(Object*), why));
  if (!items) return false;
  std::copy_n(list->items, list->count, items);
  list->pool->deallocate(list->items);
  list->items = items;
  list->capacity = capacity;
  return true;
}

List* newList(MemoryPool* pool, int64_t count, int64_t capacity, Object* const* items, dyn_status& why) {
  Ref<List> list(make<List>(pool, 0, why));
  if (!list || !reserveList(list.get(), std::max(count, capacity), why)) return nullptr;
  for (int64_t i = 0; i < count; ++i) retain(list->items[i] = items[i]);
  list->count = count;
  return list.take();
}

bool setString(Tensor* tensor, int64_t index, std::string_view text) {
  auto** elements = tensor->as<StringElement*>();
  StringElement* element = nullptr;
  if (!text.empty()) {
    element = static_cast<StringElement*>(malloc(sizeof(uint64_t) + text.size() + 8));
    if (!element) return false;
    element->sizeBytes = text.size();
    auto* characters = reinterpret_cast<char*>(element) + sizeof(uint64_t);
    memcpy(characters, text.data(), text.size());
    characters[text.size()] = 0;
  }
  free(elements[index]);
  elements[index] = element;
  return true;
}

std::string describe(const Object* object) {
  if (!object) return "empty";
  switch (object->kind) {
    case ObjectKind::storage:
      return "storage of " + std::to_string(static_cast<const Storage*>(object)->sizeBytes) + " bytes";
    case ObjectKind::tensor: {
      const auto* tensor = static_cast<const Tensor*>(object);
      std::string result(text(tensor->dtype));
      result += "[";
      for (uint32_t axis = 0; axis < tensor->rank; ++axis)
        result += (axis ? "," : "") + std::to_string(tensor->shape()[axis]);
      result += "]";
      if (tensor->isDense()) return result;
      if (tensor->storage->room > 0)
        return result + " (growing along axis " + std::to_string(tensor->storage->grownAxis) + ", room for " +
               std::to_string(tensor->storage->room) + ")";
      for (uint32_t axis = 0; axis < tensor->rank; ++axis)
        result += (axis ? "," : " strides ") + std::to_string(tensor->strides()[axis]);
      return result;
    }
    case ObjectKind::tuple: {
      const auto* tuple = static_cast<const Tuple*>(object);
      return "tuple of " + std::to_string(tuple->count) + " (tag " + std::to_string(tuple->tag) + ")";
    }
    case ObjectKind::list:
      return "list of " + std::to_string(static_cast<const List*>(object)->count);
    case ObjectKind::closure:
      return "closure of function " + std::to_string(static_cast<const Closure*>(object)->function);
  }
  return "object";
}

void* emptyData() { return kEmpty; }

}  // namespace dyn::vm
