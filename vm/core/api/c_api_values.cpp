// The C API of values: tensors, strings, tuples and lists that callers make and read.
#include <cstring>

#include "vm/base/checked.h"
#include "vm/core/api/c_api.h"
#include "vm/core/object/growing.h"
#include "vm/core/object/strided.h"
#include "vm/include/dyn_results.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

namespace {

Tensor* tensorOf(const dyn_value* value) {
  return value && value->object->kind == ObjectKind::tensor ? static_cast<Tensor*>(value->object) : nullptr;
}
bool isReadable(const dyn_value* value) {
  const Tensor* tensor = tensorOf(value);
  return tensor && (!tensor->storage || tensor->storage->device == kHostDevice);
}

Status checkShape(int32_t dtype, int32_t rank, const int64_t* shape, size_t sizeBytesGiven, bool checkSize,
                  int64_t& count) {
  if (dtype < 0 || static_cast<uint32_t>(dtype) >= kDataTypeCount) return invalid("dtype is out of range");
  if (rank < 0 || static_cast<uint32_t>(rank) > kMaximumRank) return invalid("rank must be 0 to 32");
  if (rank > 0 && !shape) return invalid("shape is null");
  int64_t size = 0;
  if (!checkedElementCount(shape, static_cast<uint32_t>(rank), count) ||
      !checkedMul(count, kDataTypes[dtype].sizeBytes, size))
    return invalid("the shape has a negative dim or too many elements");
  if (checkSize && static_cast<uint64_t>(size) != sizeBytesGiven)
    return failure(DYN_INVALID_ARGUMENT, "the shape needs " + std::to_string(size) + " bytes, " +
                                             std::to_string(sizeBytesGiven) + " are given");
  return okStatus();
}

}  // namespace

extern "C" {

dyn_status dyn_value_tensor(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                            const void* data, size_t size_bytes, dyn_value** value) {
  return guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    *value = nullptr;
    int64_t count = 0;
    if (Status status = checkShape(dtype, rank, shape, size_bytes, data != nullptr, count); !status.ok())
      return status;
    if (static_cast<DataType>(dtype) == DataType::string && data)
      return invalid("string tensors are made by dyn_value_strings");
    dyn_status why = DYN_OK;
    Ref<Tensor> tensor(
        newTensor(context->pool, static_cast<DataType>(dtype), static_cast<uint32_t>(rank), shape, why));
    if (!tensor)
      return failure(why, "no memory for a tensor of " +
                              std::to_string(static_cast<uint64_t>(count) * kDataTypes[dtype].sizeBytes) +
                              " bytes");
    if (tensor->elementCount > 0 && !context->pool->dryRun()) {
      if (data)
        memcpy(tensor->data, data, tensor->sizeBytes());
      else
        memset(tensor->data, 0, tensor->sizeBytes());
    }
    return wrap(context->module, tensor.take(), value);
  });
}

dyn_status dyn_value_borrow(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                            const void* data, size_t size_bytes,
                            void (*release_data)(void* user, const void* data), void* user,
                            dyn_value** value) {
  return guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    *value = nullptr;
    int64_t count = 0;
    if (Status status = checkShape(dtype, rank, shape, size_bytes, true, count); !status.ok()) return status;
    if (!data && count > 0) return invalid("data is null");
    if (count > 0 &&
        reinterpret_cast<uintptr_t>(data) % std::min<uint32_t>(kDataTypes[dtype].sizeBytes, 8) != 0)
      return invalid("data is not aligned for its dtype");
    if (static_cast<DataType>(dtype) == DataType::string)
      return invalid("string tensors are made by dyn_value_strings");
    dyn_status why = DYN_OK;
    Ref<Storage> storage(borrowStorage(context->pool, data, size_bytes, nullptr, user, why));
    if (storage) storage->unknown = context->pool->dryRun();
    // Kernels also take the address of no elements.
    void* elements = data ? const_cast<void*>(data) : emptyData();
    Tensor* tensor = storage
                         ? newView(context->pool, static_cast<DataType>(dtype), static_cast<uint32_t>(rank),
                                   shape, count, storage.get(), elements, why)
                         : nullptr;
    if (!tensor) return failure(why, "no memory for a value");
    tensor->readOnly = true;
    Storage* made = storage.get();
    Status status = wrap(context->module, tensor, value);
    if (status.ok()) made->release = release_data;  // a failed call leaves the data to the caller
    return status;
  });
}

dyn_status dyn_value_compound(dyn_context* context, dyn_kind kind, int32_t tag, dyn_value* const* items,
                              int64_t item_count, dyn_value** value) {
  return guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    *value = nullptr;
    if (item_count > INT32_MAX) return invalid("too many items");
    std::vector<Object*> objects;
    if (Status status = copyObjects(items, item_count, objects); !status.ok()) return status;
    dyn_status why = DYN_OK;
    Object* made = nullptr;
    if (kind == DYN_KIND_TUPLE)
      made = newTuple(context->pool, tag, static_cast<uint32_t>(item_count), objects.data(), why);
    else if (kind == DYN_KIND_LIST)
      made = newList(context->pool, item_count, 0, objects.data(), why);
    else
      return invalid("kind must be tuple or list");
    if (!made) return failure(why, "no memory for a value");
    return wrap(context->module, made, value);
  });
}

dyn_status dyn_value_strings(dyn_context* context, int32_t rank, const int64_t* shape,
                             const char* const* texts, int64_t text_count, dyn_value** value) {
  return guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    *value = nullptr;
    int64_t count = 0;
    if (Status status = checkShape(static_cast<int32_t>(DataType::string), rank, shape, 0, false, count);
        !status.ok())
      return status;
    if (count != text_count || (count > 0 && !texts))
      return invalid("the number of texts does not match the shape");
    dyn_status why = DYN_OK;
    Ref<Tensor> tensor(newTensor(context->pool, DataType::string, static_cast<uint32_t>(rank), shape, why));
    if (!tensor) return failure(why, "no memory for a value");
    for (int64_t i = 0; i < count; ++i)
      if (texts[i] && !setString(tensor.get(), i, texts[i]))
        return failure(DYN_OUT_OF_MEMORY, "no memory for a string");
    return wrap(context->module, tensor.take(), value);
  });
}

void dyn_value_retain(dyn_value* value) {
  if (value) value->references.fetch_add(1, std::memory_order_relaxed);
}
void dyn_value_release(dyn_value* value) {
  if (!value || value->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  release(value->object);
  delete value;
}

dyn_kind dyn_value_kind(const dyn_value* value) {
  if (!value) return DYN_KIND_TUPLE;
  switch (value->object->kind) {
    case ObjectKind::tensor:
      return DYN_KIND_TENSOR;
    case ObjectKind::tuple:
      return DYN_KIND_TUPLE;
    case ObjectKind::list:
      return DYN_KIND_LIST;
    case ObjectKind::closure:
      return DYN_KIND_CLOSURE;
    case ObjectKind::storage:
      return DYN_KIND_STORAGE;
  }
  return DYN_KIND_TUPLE;
}

int32_t dyn_value_dtype(const dyn_value* value) {
  return tensorOf(value) ? static_cast<int32_t>(tensorOf(value)->dtype) : -1;
}
int32_t dyn_value_rank(const dyn_value* value) { return tensorOf(value) ? tensorOf(value)->rank : -1; }
const int64_t* dyn_value_shape(const dyn_value* value) {
  return tensorOf(value) ? tensorOf(value)->shape() : nullptr;
}
const void* dyn_value_data(const dyn_value* value) {
  return isReadable(value) ? tensorOf(value)->data : nullptr;
}
size_t dyn_value_size_bytes(const dyn_value* value) {
  return tensorOf(value) ? tensorOf(value)->sizeBytes() : 0;
}

int32_t dyn_value_is_exclusive(const dyn_value* value) {
  const Tensor* tensor = tensorOf(value);
  if (!tensor || value->references.load() != 1 || tensor->readOnly || tensor->shared()) return 0;
  const Storage* storage = tensor->storage;
  return storage && !storage->readOnly && !storage->shared() && storage->dataPool && storage->room == 0;
}

int64_t dyn_value_room(const dyn_value* value) {
  const Tensor* tensor = tensorOf(value);
  const Storage* storage = tensor ? tensor->storage : nullptr;
  return storage && storage->room > 0 && growsAlong(tensor, storage->grownAxis) ? storage->room : 0;
}

dyn_status dyn_value_growing(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                             int32_t axis, int64_t room, const void* data, size_t size_bytes,
                             dyn_value** value) {
  return guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    *value = nullptr;
    int64_t count = 0;
    if (Status status = checkShape(dtype, rank, shape, size_bytes, data != nullptr, count); !status.ok())
      return status;
    if (static_cast<DataType>(dtype) == DataType::string) return invalid("string tensors do not grow");
    if (axis < 0 || axis >= rank) return invalid("there is no such axis");
    if (room < shape[axis] || room < 1) return invalid("the room is smaller than the shape");
    dyn_status why = DYN_OK;
    Ref<Tensor> tensor(newGrowing(context->pool, static_cast<DataType>(dtype),
                                  {shape, static_cast<size_t>(rank)}, static_cast<size_t>(axis), room, why));
    if (!tensor) return failure(why, "no memory for " + std::to_string(room) + " rows");
    if (count > 0 && !context->pool->dryRun()) {
      if (data)
        fillGrowing(static_cast<const std::byte*>(data), tensor.get());
      else
        memset(tensor->storage->data, 0, tensor->storage->sizeBytes);
    }
    return wrap(context->module, tensor.take(), value);
  });
}

dyn_status dyn_value_truncate(dyn_value** value, int64_t rows) {
  return guarded([&]() -> Status {
    if (!value || !*value || dyn_value_room(*value) == 0) return invalid("the value is no growing tensor");
    const Tensor* grown = tensorOf(*value);
    const int64_t there = grown->shape()[grown->storage->grownAxis];
    if (rows < 0 || rows > there)
      return failure(DYN_INVALID_ARGUMENT,
                     std::to_string(rows) + " rows of a tensor that has " + std::to_string(there));
    const bool isAlone = (*value)->references.load() == 1 && !grown->shared() && !grown->storage->shared();
    dyn_status why = DYN_OK;
    Ref<Tensor> made(firstRows(grown->pool, grown, rows, isAlone, why));
    if (!made) return failure(why, "no memory for a value");
    dyn_value* shorter = nullptr;
    if (Status status = wrap((*value)->module, made.take(), &shorter); !status.ok()) return status;
    dyn_value_release(*value);
    *value = shorter;
    return okStatus();
  });
}

dyn_status dyn_value_strides(const dyn_value* value, int64_t* strides) {
  return guarded([&]() -> Status {
    const Tensor* tensor = tensorOf(value);
    if (!tensor || !strides) return invalid("value is not a tensor, or strides is null");
    stridesOf(tensor, {strides, tensor->rank});
    return okStatus();
  });
}

const void* dyn_value_first(const dyn_value* value) {
  return isReadable(value) ? tensorOf(value)->first : nullptr;
}

const char* dyn_value_text(const dyn_value* value, int64_t index) {
  const Tensor* tensor = tensorOf(value);
  if (!tensor || tensor->dtype != DataType::string || index < 0 || index >= tensor->elementCount)
    return nullptr;
  const StringElement* element = tensor->as<const StringElement*>()[index];
  return element ? element->text : "";
}

int64_t dyn_value_item_count(const dyn_value* value) {
  if (!value) return -1;
  if (value->object->kind == ObjectKind::tuple) return static_cast<Tuple*>(value->object)->count;
  return value->object->kind == ObjectKind::list ? static_cast<List*>(value->object)->count : -1;
}

int32_t dyn_value_tag(const dyn_value* value) {
  return value && value->object->kind == ObjectKind::tuple ? static_cast<Tuple*>(value->object)->tag : -1;
}

dyn_status dyn_value_item(const dyn_value* value, int64_t index, dyn_value** item) {
  return guarded([&]() -> Status {
    if (!value || !item) return invalid("value or item is null");
    *item = nullptr;
    const int64_t count = dyn_value_item_count(value);
    if (index < 0 || index >= count)
      return failure(DYN_INVALID_ARGUMENT,
                     "item " + std::to_string(index) + " of " + describe(value->object));
    Object* object = value->object->kind == ObjectKind::tuple
                         ? static_cast<Tuple*>(value->object)->fields()[index]
                         : static_cast<List*>(value->object)->items[index];
    if (!object) return okStatus();
    retain(object);
    return wrap(value->module, object, item);
  });
}

}  // extern "C"
