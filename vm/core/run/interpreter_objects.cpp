// Interpreter: what instructions do with objects: tensors, memory, tuples, lists, closures. Operands are
// decoded:
// the loop over bytecode and native code (flow.h) call the same functions.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include "vm/base/checked.h"
#include "vm/core/object/strided.h"
#include "vm/core/run/interpreter.h"

namespace dyn::vm {
namespace {

constexpr uint64_t kMostDryRunBytes = uint64_t{1}
                                      << 16;  // of scalars put together, whose elements a dry run has

// Elements that lie apart, as those of a growing tensor do, stay where they are when only axes of one element
// come or go. False: it is another reshape, and nothing has happened.
bool hasOtherOnes(const Tensor* source, std::span<const int64_t> shape, std::span<int64_t> strides) {
  const std::span<const int64_t> from(source->shape(), source->rank);
  size_t axis = 0;
  const auto skipOnes = [&] {
    while (axis < from.size() && from[axis] == 1) ++axis;
  };
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = 0;
    if (shape[i] == 1) continue;
    skipOnes();
    if (axis == from.size() || from[axis] != shape[i]) return false;
    strides[i] = source->strides()[axis++];
  }
  skipOnes();
  return axis == from.size();
}

}  // namespace

static_assert(sizeof(Tensor) + FrameView::kMostAxes * sizeof(int64_t) <= offsetof(FrameView, element));

FrameView* Interpreter::viewAt(int32_t place) {
  Frame& frame = frames_.back();
  if (!frame.views) {
    frame.viewsBefore = views_.mark();
    frame.views = views_.take(module_.flow().viewCount(frame.function));
  }
  return frame.views + place;
}

bool Interpreter::viewScalar(int32_t target, DataType dtype, int64_t value, FrameView* view) {
  if (dtype == DataType::i32 && (value < INT32_MIN || value > INT32_MAX))
    return fault(DYN_ARITHMETIC, std::to_string(value) + " does not fit i32");
  Tensor* tensor = makeView(view, options_.pool, dtype, {}, 1, nullptr, &view->element);
  if (dtype == DataType::i64)
    *tensor->as<int64_t>() = value;
  else if (dtype == DataType::boolean)
    *tensor->as<uint8_t>() = value != 0;
  else
    *tensor->as<int32_t>() = static_cast<int32_t>(value);
  setObject(target, tensor);
  return true;
}

// Where memory is short the message may find no room either: then the code alone is told. Nothing throws from
// here, as callers hold what they must let go.
bool Interpreter::memoryFault(dyn_status why, uint64_t sizeBytes) noexcept {
  try {
    return memoryFaultText(why, sizeBytes);
  } catch (const std::bad_alloc&) {
    status_.code = why;
    return false;
  }
}

bool Interpreter::memoryFaultText(dyn_status why, uint64_t sizeBytes) {
  if (why == DYN_OK) return false;  // told already, with more to say
  if (why == DYN_ARITHMETIC) return fault(why, "the size of a tensor overflows");
  std::string message = std::to_string(sizeBytes) + " bytes are needed";
  if (why == DYN_MEMORY_LIMIT)
    message += ", the limit is " + std::to_string(options_.pool->limitBytes()) + " with " +
               std::to_string(options_.pool->statistics().inUseBytes) + " in use";
  else
    message += ", the system gives none";
  return fault(why, std::move(message));
}

bool Interpreter::dryRunEnds(const std::string& what) {
  return fault(DYN_UNSUPPORTED, "a dry run ends here: the memory depends on what " + what + " holds");
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

bool Interpreter::elementCount(std::span<const int64_t> shape, int64_t& count) {
  if (checkedElementCount(shape.data(), static_cast<uint32_t>(shape.size()), count)) return true;
  std::string text;
  for (int64_t dim : shape) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return fault(DYN_ARITHMETIC, "shape [" + text + "] has a negative dim or too many elements");
}

// --- tensors

bool Interpreter::dim(int32_t source, int32_t axis, int64_t& value) {
  const Tensor* tensor = tensorAt(source);
  if (!tensor) return false;
  if (axis >= tensor->rank)
    return fault(DYN_OUT_OF_RANGE, "dim " + std::to_string(axis) + " of " + describe(tensor));
  value = tensor->shape()[axis];
  return true;
}

bool Interpreter::item(int32_t source, int64_t index, int64_t& value) {
  Tensor* tensor = tensorAt(source);
  if (!tensor || !isDense(tensor, "item")) return false;
  if (index < 0 || index >= tensor->elementCount)
    return fault(DYN_OUT_OF_RANGE, "element " + std::to_string(index) + " of " + describe(tensor));
  if (!joinStage() || !arrived(tensor)) return false;
  if (!isOnHost(tensor)) return fault(DYN_CHECK_FAILED, "item of a tensor that is not on the cpu");
  const std::byte* elements = static_cast<const std::byte*>(tensor->data);
  if (tensor->storage && tensor->storage->unknown) {
    elements = known_.of(tensor);
    if (!elements) return dryRunEnds("an element of a tensor");
  }
  const auto at = [&]<typename T>(T) { return reinterpret_cast<const T*>(elements)[index]; };
  switch (tensor->dtype) {
    case DataType::boolean:
      value = at(uint8_t{}) != 0;
      break;
    case DataType::i4:
    case DataType::i2:
    case DataType::i8:
      value = at(int8_t{});
      break;
    case DataType::i16:
      value = at(int16_t{});
      break;
    case DataType::i32:
      value = at(int32_t{});
      break;
    case DataType::i64:
      value = at(int64_t{});
      break;
    case DataType::u4:
    case DataType::u2:
    case DataType::u8:
      value = at(uint8_t{});
      break;
    case DataType::u16:
      value = at(uint16_t{});
      break;
    case DataType::u32:
      value = at(uint32_t{});
      break;
    case DataType::u64: {
      const uint64_t wide = at(uint64_t{});
      if (wide > INT64_MAX)
        return fault(DYN_ARITHMETIC, "element " + std::to_string(wide) + " does not fit 64 signed bits");
      value = static_cast<int64_t>(wide);
      break;
    }
    default:
      return fault(DYN_CHECK_FAILED, "item of " + describe(tensor) + ": an integer or bool tensor is needed");
  }
  return true;
}

bool Interpreter::fromScalars(int32_t target, DataType dtype, std::span<const int64_t> values,
                              uint32_t rank) {
  const auto count = static_cast<uint32_t>(values.size());
  const int64_t shape = count;
  dyn_status why = DYN_OK;
  Ref<Tensor> tensor(newTensor(options_.pool, dtype, rank, &shape, why));
  if (!tensor) return memoryFault(why, count * sizeBytes(dtype));
  if (tensor->storage->unknown && tensor->sizeBytes() > kMostDryRunBytes)
    return dryRunEnds("a tensor of " + std::to_string(count) + " scalars");
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
  setObject(target, tensor.take());
  return true;
}

bool Interpreter::checkTensor(int32_t source, DataType dtype, int32_t rank, int32_t message) {
  const Object* object = V_[source];
  if (object && object->kind == ObjectKind::tensor) {
    const auto* tensor = static_cast<const Tensor*>(object);
    if (tensor->dtype == dtype && tensor->rank == rank) return true;
  }
  return fault(DYN_CHECK_FAILED, program_.strings[static_cast<size_t>(message)] + " (expected " +
                                     std::string(text(dtype)) + " of rank " + std::to_string(rank) +
                                     ", got " + describe(object) + ")");
}

bool Interpreter::checkFails(CheckKind kind, int64_t a, int64_t b, int32_t message) {
  const std::string& text = program_.strings[static_cast<size_t>(message)];
  if (kind == CheckKind::truth) return fault(DYN_CHECK_FAILED, text);
  return fault(DYN_CHECK_FAILED, text + " (" + std::to_string(a) +
                                     (kind == CheckKind::equality ? " is not equal to " : " is above ") +
                                     std::to_string(b) + ")");
}

bool Interpreter::allocateStorage(int32_t target, int64_t size, int32_t device) {
  device = actual(device);
  if (size < 0) return fault(DYN_ARITHMETIC, "storage of " + std::to_string(size) + " bytes");
  dyn_status why = DYN_OK;
  Storage* storage = newStorageOn(device, static_cast<uint64_t>(size), why);
  if (!storage) return memoryFault(why, static_cast<uint64_t>(size));
  setObject(target, storage);
  return true;
}

bool Interpreter::allocateTensor(int32_t target, int32_t from, int64_t offset, DataType dtype,
                                 std::span<const int64_t> shape, FrameView* view) {
  Object* object = V_[from];
  if (!object || object->kind != ObjectKind::storage)
    return fault(DYN_CHECK_FAILED,
                 "v" + std::to_string(from) + " must hold a storage, it holds " + describe(object));
  auto* storage = static_cast<Storage*>(object);
  if (dtype == DataType::string) return fault(DYN_UNSUPPORTED, "string tensors in a shared storage");
  int64_t count, size, end;
  if (!elementCount(shape, count)) return false;
  const bool fits = offset >= 0 && checkedMul(count, sizeBytes(dtype), size) &&
                    checkedAdd(offset, size, end) && static_cast<uint64_t>(end) <= storage->sizeBytes &&
                    offset % std::min<int64_t>(sizeBytes(dtype), 8) == 0;
  if (!fits)
    return fault(DYN_OUT_OF_RANGE, "a tensor of " + std::to_string(count) + " " + std::string(text(dtype)) +
                                       " at byte " + std::to_string(offset) + " does not fit a storage of " +
                                       std::to_string(storage->sizeBytes) + " bytes");
  if (view) {
    setObject(target, makeView(view, options_.pool, dtype, shape, count, storage,
                               static_cast<std::byte*>(storage->data) + offset));
    return true;
  }
  dyn_status why = DYN_OK;
  Tensor* tensor = newView(options_.pool, dtype, static_cast<uint32_t>(shape.size()), shape.data(), count,
                           storage, static_cast<std::byte*>(storage->data) + offset, why);
  if (!tensor) return memoryFault(why, sizeof(Tensor));
  setObject(target, tensor);
  return true;
}

bool Interpreter::makeTensor(int32_t target, DataType dtype, int32_t device, std::span<const int64_t> shape) {
  device = actual(device);
  int64_t count;
  if (!elementCount(shape, count)) return false;
  dyn_status why = DYN_OK;
  Tensor* tensor = nullptr;
  if (device == kHostDevice) tensor = inBoundMemory(dtype, shape, count, why);
  if (!tensor && why == DYN_OK) tensor = newTensorOn(device, dtype, shape, why);
  if (!tensor) return memoryFault(why, static_cast<uint64_t>(count) * sizeBytes(dtype));
  noteOrigin(tensor);
  setObject(target, tensor);
  return true;
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
// run; null: absent, or, with `why` set, no memory.
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

bool Interpreter::reuseTensor(int32_t target, int32_t source, DataType dtype, int32_t device,
                              std::span<const int64_t> shape) {
  device = actual(device);
  auto* tensor = static_cast<Tensor*>(V_[source]);
  int64_t count;
  if (!elementCount(shape, count)) return false;
  // Of a device all memory that is given back comes from the pool of its session.
  const auto isPooled = [](const Storage& storage) {
    return storage.dataPool || (storage.device != kHostDevice && storage.release);
  };
  const bool own = tensor && tensor->kind == ObjectKind::tensor && !tensor->shared() && !tensor->readOnly &&
                   tensor->storage && !tensor->storage->shared() && isPooled(*tensor->storage) &&
                   tensor->storage->room == 0 && tensor->data == tensor->storage->data;
  if (!own || tensor->dtype != dtype || tensor->storage->device != device || tensor->rank != shape.size() ||
      !std::equal(shape.begin(), shape.end(), tensor->shape()))
    return makeTensor(target, dtype, device, shape);
  retain(tensor);
  setObject(target, tensor);
  return true;
}

bool Interpreter::reshape(int32_t target, int32_t from, std::span<const int64_t> shape, FrameView* view) {
  Tensor* source = tensorAt(from);
  if (!source) return false;
  int64_t count;
  if (!elementCount(shape, count)) return false;
  int64_t strides[FrameView::kMostAxes];
  if (!source->isDense() && shape.size() <= FrameView::kMostAxes && hasOtherOnes(source, shape, strides))
    return setStridedView(target, source, shape, {strides, shape.size()}, count, source->first);
  if (!isDense(source, "reshape")) return false;
  if (count != source->elementCount)
    return fault(DYN_CHECK_FAILED,
                 "reshape of " + describe(source) + " to a shape of " + std::to_string(count) + " elements");
  if (view) {
    const bool readOnly = source->readOnly;
    Tensor* tensor =
        makeView(view, options_.pool, source->dtype, shape, count, source->storage, source->data);
    tensor->readOnly = readOnly;
    setObject(target, tensor);
    return true;
  }
  dyn_status why = DYN_OK;
  Tensor* tensor = newView(options_.pool, source->dtype, static_cast<uint32_t>(shape.size()), shape.data(),
                           count, source->storage, source->data, why);
  if (!tensor) return memoryFault(why, sizeof(Tensor));
  tensor->readOnly = source->readOnly;
  setObject(target, tensor);
  return true;
}

bool Interpreter::stridedView(int32_t target, int32_t from, int64_t offset, std::span<const int64_t> shape,
                              std::span<const int64_t> strides) {
  Tensor* source = tensorAt(from);
  if (!source || !isDense(source, "a view")) return false;
  if (source->dtype == DataType::string) return fault(DYN_UNSUPPORTED, "a strided view of strings");
  int64_t count, low, high;
  if (!elementCount(shape, count)) return false;
  const bool inside = reachOf(shape, strides, low, high) &&
                      (count == 0 || (checkedAdd(low, offset, low) && checkedAdd(high, offset, high) &&
                                      low >= 0 && high < source->elementCount));
  if (!inside)
    return fault(DYN_OUT_OF_RANGE, "a view of " + std::to_string(count) + " elements from element " +
                                       std::to_string(offset) + " on reaches beyond " + describe(source));
  std::byte* first = count == 0 ? source->first : source->first + offset * sizeBytes(source->dtype);
  return setStridedView(target, source, shape, strides, count, first);
}

bool Interpreter::setStridedView(int32_t target, const Tensor* source, std::span<const int64_t> shape,
                                 std::span<const int64_t> strides, int64_t count, std::byte* first) {
  dyn_status why = DYN_OK;
  Tensor* tensor = newStridedView(options_.pool, source->dtype, static_cast<uint32_t>(shape.size()),
                                  shape.data(), strides.data(), count, source->storage, first, why);
  if (!tensor) return memoryFault(why, sizeof(Tensor));
  tensor->readOnly = true;
  setObject(target, tensor);
  return true;
}

bool Interpreter::deviceCopy(int32_t target, int32_t from, int32_t fromDevice, int32_t toDevice) {
  fromDevice = actual(fromDevice);
  toDevice = actual(toDevice);
  if (!joinStage()) return false;
  Tensor* source = tensorAt(from);
  if (!source || !isDense(source, "a copy")) return false;
  // Constants of the program are written by nobody: on one device one is enough.
  if (fromDevice == toDevice && globals_) {
    retain(source);
    setObject(target, source);
    return true;
  }
  if (!arrived(source)) return false;
  const uint8_t device = source->storage ? source->storage->device : 0;
  if (device != fromDevice && source->elementCount > 0)
    return fault(DYN_CHECK_FAILED, "copy from device " + std::to_string(fromDevice) +
                                       " of a tensor that is on device " + std::to_string(device));
  if (source->dtype == DataType::string && toDevice != fromDevice)
    return fault(DYN_UNSUPPORTED, "string tensors on other devices");
  if (source->dtype == DataType::string) {
    retain(source);
    setObject(target, source);
    return true;
  }
  dyn_status why = DYN_OK;
  Ref<Tensor> copy(newTensorOn(toDevice, source->dtype, {source->shape(), source->rank}, why));
  if (!copy) return memoryFault(why, source->sizeBytes());
  if (options_.dryRun) {  // memory alone counts
    if (copy->storage) copy->storage->unknown = true;
    setObject(target, copy.take());
    return true;
  }
  const bool pulls = fromDevice != kHostDevice && toDevice == kHostDevice;
  Status status = pulls ? pull(source, copy.get(), fromDevice)
                        : copyBetween(fromDevice, source->data, toDevice, copy->data, source->sizeBytes());
  if (!status.ok()) {
    if (status.place.empty()) return fault(status.code, status.message);
    status_ = std::move(status);  // of the kernel whose result is copied
    return false;
  }
  setObject(target, copy.take());
  return true;
}

// --- data structures

bool Interpreter::makeTuple(int32_t target, int32_t tag, WordList fields) {
  dyn_status why = DYN_OK;
  gather(fields);
  Tuple* tuple = newTuple(options_.pool, tag, fields.count, gathered_.data(), why);
  dropGathered();
  if (!tuple) return memoryFault(why, sizeof(Tuple) + fields.count * sizeof(Object*));
  setObject(target, tuple);
  return true;
}

bool Interpreter::getField(int32_t target, int32_t source, int32_t index) {
  Object* object = V_[source];
  if (!object || object->kind != ObjectKind::tuple)
    return fault(DYN_CHECK_FAILED, "field " + std::to_string(index) + " of " + describe(object));
  auto* tuple = static_cast<Tuple*>(object);
  if (static_cast<uint32_t>(index) >= tuple->count)
    return fault(DYN_OUT_OF_RANGE, "field " + std::to_string(index) + " of " + describe(object));
  Object* field = tuple->fields()[index];
  retain(field);
  setObject(target, field);
  return true;
}

bool Interpreter::getTag(int32_t source, int64_t& value) {
  Object* object = V_[source];
  if (!object || object->kind != ObjectKind::tuple)
    return fault(DYN_CHECK_FAILED, "tag of " + describe(object));
  value = static_cast<Tuple*>(object)->tag;
  return true;
}

bool Interpreter::makeList(int32_t target, WordList items) {
  gather(items);
  dyn_status why = DYN_OK;
  List* list = newList(options_.pool, items.count, 0, gathered_.data(), why);
  dropGathered();
  if (!list) return memoryFault(why, sizeof(List) + items.count * sizeof(Object*));
  setObject(target, list);
  return true;
}

bool Interpreter::listLength(int32_t source, int64_t& value) {
  const List* list = listObject(source);
  if (list) value = list->count;
  return list != nullptr;
}

bool Interpreter::listAt(int32_t target, int32_t source, int64_t given) {
  List* list = listObject(source);
  if (!list) return false;
  const int64_t index = given < 0 ? given + list->count : given;
  if (index < 0 || index >= list->count)
    return fault(DYN_OUT_OF_RANGE,
                 "item " + std::to_string(given) + " of a list of " + std::to_string(list->count));
  Object* object = list->items[index];
  retain(object);
  setObject(target, object);
  return true;
}

bool Interpreter::listInsert(int32_t target, int32_t source, int32_t item, int64_t index) {
  List* list = listObject(source);
  if (!list) return false;
  if (index < 0 || index > list->count)
    return fault(DYN_OUT_OF_RANGE,
                 "insert at " + std::to_string(index) + " into a list of " + std::to_string(list->count));
  dyn_status why = DYN_OK;
  Object* object = V_[item];
  // In place only when the result takes the place of its source and nobody else holds it.
  const bool inPlace = target == source && !list->shared() && object != list;
  Ref<List> made(inPlace ? nullptr : newList(options_.pool, list->count, list->count + 1, list->items, why));
  List* into = inPlace ? list : made.get();
  if (!into || !reserveList(into, into->count + 1, why))
    return memoryFault(why, static_cast<uint64_t>(list->count + 1) * sizeof(Object*));
  retain(object);
  std::copy_backward(into->items + index, into->items + into->count, into->items + into->count + 1);
  into->items[index] = object;
  ++into->count;
  if (!inPlace) setObject(target, made.take());
  return true;
}

bool Interpreter::listErase(int32_t target, int32_t source, int64_t given) {
  List* list = listObject(source);
  if (!list) return false;
  const int64_t index = given < 0 ? given + list->count : given;
  if (index < 0 || index >= list->count)
    return fault(DYN_OUT_OF_RANGE,
                 "erase of item " + std::to_string(given) + " from a list of " + std::to_string(list->count));
  dyn_status why = DYN_OK;
  const bool inPlace = target == source && !list->shared();
  Ref<List> made(inPlace ? nullptr : newList(options_.pool, list->count, 0, list->items, why));
  List* into = inPlace ? list : made.get();
  if (!into) return memoryFault(why, static_cast<uint64_t>(list->count) * sizeof(Object*));
  Object* gone = into->items[index];
  std::copy(into->items + index + 1, into->items + into->count, into->items + index);
  --into->count;
  release(gone);
  if (!inPlace) setObject(target, made.take());
  return true;
}

bool Interpreter::makeClosure(int32_t target, uint32_t function, WordList captures) {
  gather(captures);
  dyn_status why = DYN_OK;
  Closure* closure = newClosure(options_.pool, function, captures.count, gathered_.data(), why);
  dropGathered();
  if (!closure) return memoryFault(why, sizeof(Closure) + captures.count * sizeof(Object*));
  setObject(target, closure);
  return true;
}

}  // namespace dyn::vm
