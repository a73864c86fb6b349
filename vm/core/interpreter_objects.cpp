// Interpreter: instructions on objects: tensors, memory, tuples, lists, closures.
#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "vm/base/checked.h"
#include "vm/core/interpreter.h"
#include "vm/device/device.h"

namespace dyn::vm {
namespace {

constexpr uint64_t kMostRehearsedBytes = uint64_t{1}
                                         << 16;  // of scalars put together, whose elements a rehearsal has

}  // namespace

void Interpreter::setObject(int32_t index, Object* owned) {
  Object* old = V_[index];
  V_[index] = owned;
  release(old);
}

// Where memory is short the message may find no room either: then the code alone is told. Nothing throws from
// here, as callers hold what they must let go.
const int32_t* Interpreter::memoryFault(dyn_status why, uint64_t sizeBytes) noexcept {
  try {
    return memoryFaultText(why, sizeBytes);
  } catch (const std::bad_alloc&) {
    status_.code = why;
    return nullptr;
  }
}

const int32_t* Interpreter::memoryFaultText(dyn_status why, uint64_t sizeBytes) {
  if (why == DYN_ARITHMETIC) return fault(why, "the size of a tensor overflows");
  std::string message = std::to_string(sizeBytes) + " bytes are needed";
  if (why == DYN_MEMORY_LIMIT)
    message += ", the limit is " + std::to_string(options_.pool->limitBytes()) + " with " +
               std::to_string(options_.pool->statistics().inUseBytes) + " in use";
  else
    message += ", the system gives none";
  return fault(why, std::move(message));
}

const int32_t* Interpreter::rehearsalEnds(const std::string& what) {
  return fault(DYN_UNSUPPORTED, "a rehearsal ends here: the memory depends on what " + what + " holds");
}

bool Interpreter::isDense(const Tensor* tensor, std::string_view reader) {
  if (tensor->isDense()) return true;
  fault(DYN_UNSUPPORTED,
        std::string(reader) + " cannot read " + describe(tensor) + ": its elements do not lie side by side");
  return false;
}

Tensor* Interpreter::tensorAt(int32_t index) {
  Object* object = V_[index];
  if (object && object->kind == ObjectKind::tensor) return static_cast<Tensor*>(object);
  fault(DYN_CHECK_FAILED, "v" + std::to_string(index) + " must hold a tensor, it holds " + describe(object));
  return nullptr;
}

List* Interpreter::listObject(int32_t index) {
  Object* object = V_[index];
  if (object && object->kind == ObjectKind::list) return static_cast<List*>(object);
  fault(DYN_CHECK_FAILED, "v" + std::to_string(index) + " must hold a list, it holds " + describe(object));
  return nullptr;
}

bool Interpreter::readShape(const int32_t*& w, uint32_t& rank, int64_t& count) {
  rank = static_cast<uint32_t>(*w++);
  for (uint32_t axis = 0; axis < rank; ++axis) shape_[axis] = R_[*w++];
  if (checkedElementCount(shape_, rank, count)) return true;
  std::string text;
  for (uint32_t axis = 0; axis < rank; ++axis) text += (axis ? "," : "") + std::to_string(shape_[axis]);
  fault(DYN_ARITHMETIC, "shape [" + text + "] has a negative dim or too many elements");
  return false;
}

// --- tensors

const int32_t* Interpreter::item(const int32_t* w) {
  Tensor* tensor = tensorAt(w[1]);
  if (!tensor) return nullptr;
  if (!isDense(tensor, "item")) return nullptr;
  const int64_t index = R_[w[2]];
  if (index < 0 || index >= tensor->elementCount)
    return fault(DYN_OUT_OF_RANGE, "element " + std::to_string(index) + " of " + describe(tensor));
  if (tensor->storage && tensor->storage->device != 0)
    return fault(DYN_CHECK_FAILED, "item of a tensor that is not on the cpu");
  if (tensor->storage && tensor->storage->unknown) return rehearsalEnds("an element of a tensor");
  int64_t value = 0;
  switch (tensor->dtype) {
    case DataType::boolean:
      value = tensor->as<uint8_t>()[index] != 0;
      break;
    case DataType::i4:
    case DataType::i2:
    case DataType::i8:
      value = tensor->as<int8_t>()[index];
      break;
    case DataType::i16:
      value = tensor->as<int16_t>()[index];
      break;
    case DataType::i32:
      value = tensor->as<int32_t>()[index];
      break;
    case DataType::i64:
      value = tensor->as<int64_t>()[index];
      break;
    case DataType::u4:
    case DataType::u2:
    case DataType::u8:
      value = tensor->as<uint8_t>()[index];
      break;
    case DataType::u16:
      value = tensor->as<uint16_t>()[index];
      break;
    case DataType::u32:
      value = tensor->as<uint32_t>()[index];
      break;
    case DataType::u64: {
      const uint64_t wide = tensor->as<uint64_t>()[index];
      if (wide > INT64_MAX)
        return fault(DYN_ARITHMETIC, "element " + std::to_string(wide) + " does not fit 64 signed bits");
      value = static_cast<int64_t>(wide);
      break;
    }
    default:
      return fault(DYN_CHECK_FAILED, "item of " + describe(tensor) + ": an integer or bool tensor is needed");
  }
  R_[w[0]] = value;
  return w + 3;
}

const int32_t* Interpreter::fromScalars(DataType dtype, uint32_t target, const int64_t* values, uint32_t rank,
                                        uint32_t count, const int32_t* next) {
  const int64_t shape = count;
  dyn_status why = DYN_OK;
  Ref<Tensor> tensor(newTensor(options_.pool, dtype, rank, &shape, 0, why));
  if (!tensor) return memoryFault(why, count * sizeBytes(dtype));
  if (tensor->storage->unknown && tensor->sizeBytes() > kMostRehearsedBytes)
    return rehearsalEnds("a tensor of " + std::to_string(count) + " scalars");
  tensor->storage->unknown = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (dtype == DataType::i64)
      tensor->as<int64_t>()[i] = values[i];
    else if (dtype == DataType::boolean)
      tensor->as<uint8_t>()[i] = values[i] != 0;
    else if (values[i] < INT32_MIN || values[i] > INT32_MAX)
      return fault(DYN_ARITHMETIC, std::to_string(values[i]) + " does not fit i32");
    else
      tensor->as<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  setObject(static_cast<int32_t>(target), tensor.take());
  return next;
}

const int32_t* Interpreter::checkTensor(const int32_t* w) {
  const Object* object = V_[w[0]];
  if (object && object->kind == ObjectKind::tensor) {
    const auto* tensor = static_cast<const Tensor*>(object);
    if (static_cast<int32_t>(tensor->dtype) == w[1] && tensor->rank == w[2]) return w + 4;
  }
  return fault(DYN_CHECK_FAILED, program_.strings[static_cast<size_t>(w[3])] + " (expected " +
                                     std::string(text(static_cast<DataType>(w[1]))) + " of rank " +
                                     std::to_string(w[2]) + ", got " + describe(object) + ")");
}

const int32_t* Interpreter::allocateStorage(const int32_t* w) {
  const int64_t size = R_[w[1]];
  if (size < 0) return fault(DYN_ARITHMETIC, "storage of " + std::to_string(size) + " bytes");
  dyn_status why = DYN_OK;
  Storage* storage = newStorage(options_.pool, static_cast<uint64_t>(size), static_cast<uint8_t>(w[2]), why,
                                devicePool(w[2]));
  if (!storage) return memoryFault(why, static_cast<uint64_t>(size));
  setObject(w[0], storage);
  return w + 3;
}

const int32_t* Interpreter::allocateTensor(const int32_t* w) {
  Object* object = V_[w[1]];
  if (!object || object->kind != ObjectKind::storage)
    return fault(DYN_CHECK_FAILED,
                 "v" + std::to_string(w[1]) + " must hold a storage, it holds " + describe(object));
  auto* storage = static_cast<Storage*>(object);
  const int64_t offset = R_[w[2]];
  const auto dtype = static_cast<DataType>(w[3]);
  if (dtype == DataType::string) return fault(DYN_UNSUPPORTED, "string tensors in a shared storage");
  const int32_t* next = w + 4;
  uint32_t rank;
  int64_t count, size, end;
  if (!readShape(next, rank, count)) return nullptr;
  const bool fits = offset >= 0 && checkedMul(count, sizeBytes(dtype), size) &&
                    checkedAdd(offset, size, end) && static_cast<uint64_t>(end) <= storage->sizeBytes &&
                    offset % std::min<int64_t>(sizeBytes(dtype), 8) == 0;
  if (!fits)
    return fault(DYN_OUT_OF_RANGE, "a tensor of " + std::to_string(count) + " " + std::string(text(dtype)) +
                                       " at byte " + std::to_string(offset) + " does not fit a storage of " +
                                       std::to_string(storage->sizeBytes) + " bytes");
  dyn_status why = DYN_OK;
  Tensor* tensor = newView(options_.pool, dtype, rank, shape_, count, storage,
                           static_cast<std::byte*>(storage->data) + offset, why);
  if (!tensor) return memoryFault(why, sizeof(Tensor));
  setObject(w[0], tensor);
  return next;
}

// `w`: dtype, device, dims.
const int32_t* Interpreter::newTensorInstruction(int32_t result, const int32_t* w) {
  const auto dtype = static_cast<DataType>(w[0]);
  const int32_t* next = w + 2;
  uint32_t rank;
  int64_t count;
  if (!readShape(next, rank, count)) return nullptr;
  dyn_status why = DYN_OK;
  Tensor* tensor = nullptr;
  if (w[1] == 0) tensor = inBoundMemory(dtype, {shape_, rank}, count, why);
  if (!tensor && why == DYN_OK)
    tensor = newTensor(options_.pool, dtype, rank, shape_, static_cast<uint8_t>(w[1]), why, devicePool(w[1]));
  if (!tensor) return memoryFault(why, static_cast<uint64_t>(count) * sizeBytes(dtype));
  noteOrigin(tensor);
  setObject(result, tensor);
  return next;
}

// Of what a builtin has made: not of what it has passed on.
void Interpreter::noteOriginOf(Object* result) const {
  if (!result || result->kind != ObjectKind::tensor || result->shared()) return;
  auto* tensor = static_cast<Tensor*>(result);
  if (tensor->storage && !tensor->storage->shared() && tensor->storage->room == 0) noteOrigin(tensor);
}

void Interpreter::noteOrigin(Tensor* tensor) const {
  tensor->storage->originFunction = static_cast<int32_t>(frames_.back().function);
  tensor->storage->originPosition = positionOf(at_);
}

// A tensor in memory that the caller has bound for the output which the instruction at at_ made in an earlier
// run; null: there is none, or, with `why` set, no memory.
Tensor* Interpreter::inBoundMemory(DataType dtype, std::span<const int64_t> shape, int64_t count,
                                   dyn_status& why) {
  if (!bindActive_ || dtype == DataType::string) return nullptr;
  const auto function = static_cast<int32_t>(frames_.back().function);
  const uint32_t position = positionOf(at_);
  for (BoundOutput& bound : bound_) {
    const uint64_t size = static_cast<uint64_t>(count) * sizeBytes(dtype);
    if (!bound.memory || bound.used || bound.originFunction != function || bound.originPosition != position ||
        size > bound.sizeBytes || static_cast<uint64_t>(count) > bound.sizeBytes)
      continue;
    Ref<Storage> storage(borrowStorage(options_.pool, bound.memory, bound.sizeBytes, nullptr, nullptr, why));
    Tensor* tensor = storage ? newView(options_.pool, dtype, static_cast<uint32_t>(shape.size()),
                                       shape.data(), count, storage.get(), bound.memory, why)
                             : nullptr;
    if (tensor) bound.used = true;
    return tensor;
  }
  return nullptr;
}

const int32_t* Interpreter::reuseTensor(const int32_t* w) {
  auto* tensor = static_cast<Tensor*>(V_[w[1]]);
  const int32_t* next = w + 4;
  uint32_t rank;
  int64_t count;
  if (!readShape(next, rank, count)) return nullptr;
  const bool own = tensor && tensor->kind == ObjectKind::tensor && !tensor->shared() && !tensor->readOnly &&
                   tensor->storage && !tensor->storage->shared() && tensor->storage->dataPool &&
                   tensor->storage->room == 0 && tensor->data == tensor->storage->data;
  if (!own || tensor->dtype != static_cast<DataType>(w[2]) || tensor->storage->device != w[3] ||
      tensor->rank != rank || !std::equal(shape_, shape_ + rank, tensor->shape()))
    return newTensorInstruction(w[0], w + 2);
  retain(tensor);
  setObject(w[0], tensor);
  return next;
}

const int32_t* Interpreter::reshape(const int32_t* w) {
  Tensor* source = tensorAt(w[1]);
  if (!source || !isDense(source, "reshape")) return nullptr;
  const int32_t* next = w + 2;
  uint32_t rank;
  int64_t count;
  if (!readShape(next, rank, count)) return nullptr;
  if (count != source->elementCount)
    return fault(DYN_CHECK_FAILED,
                 "reshape of " + describe(source) + " to a shape of " + std::to_string(count) + " elements");
  dyn_status why = DYN_OK;
  Tensor* tensor =
      newView(options_.pool, source->dtype, rank, shape_, count, source->storage, source->data, why);
  if (!tensor) return memoryFault(why, sizeof(Tensor));
  tensor->readOnly = source->readOnly;
  setObject(w[0], tensor);
  return next;
}

const int32_t* Interpreter::deviceCopy(const int32_t* w) {
  Tensor* source = tensorAt(w[1]);
  if (!source || !isDense(source, "a copy")) return nullptr;
  const uint8_t device = source->storage ? source->storage->device : 0;
  if (device != w[2] && source->elementCount > 0)
    return fault(DYN_CHECK_FAILED, "copy from device " + std::to_string(w[2]) +
                                       " of a tensor that is on device " + std::to_string(device));
  if (source->dtype == DataType::string && w[3] != w[2])
    return fault(DYN_UNSUPPORTED, "string tensors on other devices");
  if (source->dtype == DataType::string) {
    retain(source);
    setObject(w[0], source);
    return w + 4;
  }
  dyn_status why = DYN_OK;
  if (options_.rehearsal) return rehearsalEnds("a copy");
  Ref<Tensor> copy(newTensor(options_.pool, source->dtype, source->rank, source->shape(),
                             static_cast<uint8_t>(w[3]), why, devicePool(w[3])));
  if (!copy) return memoryFault(why, source->sizeBytes());
  if (Status status = copyBetweenDevices(w[2], source->data, w[3], copy->data, source->sizeBytes());
      !status.ok())
    return fault(status.code, status.message);
  setObject(w[0], copy.take());
  return w + 4;
}

// --- data structures

const int32_t* Interpreter::makeTuple(const int32_t* w) {
  const auto count = static_cast<uint32_t>(w[2]);
  dyn_status why = DYN_OK;
  gather({w + 3, count});
  Tuple* tuple = newTuple(options_.pool, w[1], count, gathered_.data(), why);
  dropGathered();
  if (!tuple) return memoryFault(why, sizeof(Tuple) + count * sizeof(Object*));
  setObject(w[0], tuple);
  return w + 3 + count;
}

const int32_t* Interpreter::getField(const int32_t* w) {
  Object* object = V_[w[1]];
  if (!object || object->kind != ObjectKind::tuple)
    return fault(DYN_CHECK_FAILED, "field " + std::to_string(w[2]) + " of " + describe(object));
  auto* tuple = static_cast<Tuple*>(object);
  if (static_cast<uint32_t>(w[2]) >= tuple->count)
    return fault(DYN_OUT_OF_RANGE, "field " + std::to_string(w[2]) + " of " + describe(object));
  Object* field = tuple->fields()[w[2]];
  retain(field);
  setObject(w[0], field);
  return w + 3;
}

const int32_t* Interpreter::makeList(const int32_t* w) {
  const auto count = static_cast<uint32_t>(w[1]);
  gather({w + 2, count});
  dyn_status why = DYN_OK;
  List* list = newList(options_.pool, count, 0, gathered_.data(), why);
  dropGathered();
  if (!list) return memoryFault(why, sizeof(List) + count * sizeof(Object*));
  setObject(w[0], list);
  return w + 2 + count;
}

const int32_t* Interpreter::listAt(const int32_t* w) {
  List* list = listObject(w[1]);
  if (!list) return nullptr;
  const int64_t index = R_[w[2]] < 0 ? R_[w[2]] + list->count : R_[w[2]];
  if (index < 0 || index >= list->count)
    return fault(DYN_OUT_OF_RANGE,
                 "item " + std::to_string(R_[w[2]]) + " of a list of " + std::to_string(list->count));
  Object* object = list->items[index];
  retain(object);
  setObject(w[0], object);
  return w + 3;
}

const int32_t* Interpreter::listInsert(const int32_t* w) {
  List* list = listObject(w[1]);
  if (!list) return nullptr;
  const int64_t index = R_[w[3]];
  if (index < 0 || index > list->count)
    return fault(DYN_OUT_OF_RANGE,
                 "insert at " + std::to_string(index) + " into a list of " + std::to_string(list->count));
  dyn_status why = DYN_OK;
  Object* object = V_[w[2]];
  // In place only when the result takes the place of its source and nobody else holds it.
  const bool inPlace = w[0] == w[1] && !list->shared() && object != list;
  Ref<List> made(inPlace ? nullptr : newList(options_.pool, list->count, list->count + 1, list->items, why));
  List* target = inPlace ? list : made.get();
  if (!target || !reserveList(target, target->count + 1, why))
    return memoryFault(why, static_cast<uint64_t>(list->count + 1) * sizeof(Object*));
  retain(object);
  std::copy_backward(target->items + index, target->items + target->count, target->items + target->count + 1);
  target->items[index] = object;
  ++target->count;
  if (!inPlace) setObject(w[0], made.take());
  return w + 4;
}

const int32_t* Interpreter::listErase(const int32_t* w) {
  List* list = listObject(w[1]);
  if (!list) return nullptr;
  const int64_t index = R_[w[2]] < 0 ? R_[w[2]] + list->count : R_[w[2]];
  if (index < 0 || index >= list->count)
    return fault(DYN_OUT_OF_RANGE, "erase of item " + std::to_string(R_[w[2]]) + " from a list of " +
                                       std::to_string(list->count));
  dyn_status why = DYN_OK;
  const bool inPlace = w[0] == w[1] && !list->shared();
  Ref<List> made(inPlace ? nullptr : newList(options_.pool, list->count, 0, list->items, why));
  List* target = inPlace ? list : made.get();
  if (!target) return memoryFault(why, static_cast<uint64_t>(list->count) * sizeof(Object*));
  Object* gone = target->items[index];
  std::copy(target->items + index + 1, target->items + target->count, target->items + index);
  --target->count;
  release(gone);
  if (!inPlace) setObject(w[0], made.take());
  return w + 3;
}

const int32_t* Interpreter::makeClosure(const int32_t* w) {
  const auto count = static_cast<uint32_t>(w[2]);
  gather({w + 3, count});
  dyn_status why = DYN_OK;
  Closure* closure = newClosure(options_.pool, static_cast<uint32_t>(w[1]), count, gathered_.data(), why);
  dropGathered();
  if (!closure) return memoryFault(why, sizeof(Closure) + count * sizeof(Object*));
  setObject(w[0], closure);
  return w + 3 + count;
}

}  // namespace dyn::vm
