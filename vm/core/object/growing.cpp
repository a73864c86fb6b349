#include "vm/core/object/growing.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "vm/base/checked.h"
#include "vm/core/object/strided.h"

namespace dyn::vm {
namespace {

// Row-major strides of a tensor with `room` rows along `axis`. The sizes have been checked.
std::vector<int64_t> stridesWithRoom(std::span<const int64_t> shape, size_t axis, int64_t room) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= i == axis ? room : shape[i];
  }
  return strides;
}

Tensor* inStorage(MemoryPool* pool, DataType dtype, std::span<const int64_t> shape, int64_t count,
                  Storage* storage, dyn_status& why) {
  const std::vector<int64_t> strides = count > 0 ? stridesWithRoom(shape, storage->grownAxis, storage->room)
                                                 : std::vector<int64_t>(shape.size());
  return newStridedView(pool, dtype, static_cast<uint32_t>(shape.size()), shape.data(), strides.data(), count,
                        storage, storage->data, why);
}

// Writes `rows` as rows `first` and on of `to`.
void writeRows(const Tensor* rows, Tensor* to, size_t axis, int64_t first) {
  if (rows->elementCount == 0) return;
  std::vector<int64_t> strides(to->rank), from(to->rank);
  stridesOf(to, strides);
  stridesOf(rows, from);
  const auto bytes = static_cast<int64_t>(sizeBytes(to->dtype));
  copyElements({rows->shape(), rows->rank}, static_cast<size_t>(bytes), rows->first, from,
               to->first + first * strides[axis] * bytes, strides);
}

}  // namespace

Tensor* newGrowing(MemoryPool* pool, DataType dtype, std::span<const int64_t> shape, size_t axis,
                   int64_t room, dyn_status& why) {
  std::vector<int64_t> whole(shape.begin(), shape.end());
  whole[axis] = room;
  int64_t count = 0, wholeCount = 0, bytes = 0;
  const auto rank = static_cast<uint32_t>(shape.size());
  if (!checkedElementCount(shape.data(), rank, count) ||
      !checkedElementCount(whole.data(), rank, wholeCount) ||
      !checkedMul(wholeCount, sizeBytes(dtype), bytes)) {
    why = DYN_ARITHMETIC;
    return nullptr;
  }
  Ref<Storage> storage(newStorage(pool, static_cast<uint64_t>(bytes), why));
  if (!storage) return nullptr;
  storage->grownAxis = static_cast<uint8_t>(axis);
  storage->room = room;
  storage->filled.store(shape[axis], std::memory_order_relaxed);
  return inStorage(pool, dtype, shape, count, storage.get(), why);
}

Tensor* newGrowingWithRoom(MemoryPool* pool, DataType dtype, std::span<const int64_t> shape, size_t axis,
                           dyn_status& why) {
  int64_t room = 0;
  if (!checkedMul(shape[axis], 2, room)) room = shape[axis];
  Tensor* made = newGrowing(pool, dtype, shape, axis, room, why);
  return made ? made : newGrowing(pool, dtype, shape, axis, shape[axis], why);
}

bool growsAlong(const Tensor* tensor, size_t axis) {
  const Storage* storage = tensor->storage;
  if (!storage || storage->room == 0 || storage->grownAxis != axis) return false;
  std::vector<int64_t> whole(tensor->shape(), tensor->shape() + tensor->rank), strides(tensor->rank);
  whole[axis] = storage->room;
  int64_t count = 0, bytes = 0;
  if (!checkedElementCount(whole.data(), tensor->rank, count) ||
      !checkedMul(count, sizeBytes(tensor->dtype), bytes) ||
      static_cast<uint64_t>(bytes) != storage->sizeBytes)
    return false;
  if (tensor->elementCount == 0) return true;
  if (tensor->first != storage->data) return false;
  stridesOf(tensor, strides);
  const std::vector<int64_t> wanted = stridesWithRoom(whole, axis, storage->room);
  for (size_t i = 0; i < whole.size(); ++i)
    if (tensor->shape()[i] != 1 && strides[i] != wanted[i]) return false;
  return true;
}

Status appendRows(MemoryPool* pool, const Tensor* past, const Tensor* rows, size_t axis, bool dryRun,
                  Tensor*& result) {
  const int64_t before = past->shape()[axis];
  int64_t total = 0;
  if (__builtin_add_overflow(before, rows->shape()[axis], &total))
    return failure(DYN_ARITHMETIC, "the joined axis overflows");
  std::vector<int64_t> shape(past->shape(), past->shape() + past->rank);
  shape[axis] = total;
  int64_t count = 0, latest = before;
  if (!checkedElementCount(shape.data(), past->rank, count))
    return failure(DYN_ARITHMETIC, "the joined tensor has too many elements");
  dyn_status why = DYN_OK;
  Ref<Tensor> made;
  if (total <= past->storage->room &&
      (dryRun || past->storage->filled.compare_exchange_strong(latest, total, std::memory_order_acq_rel))) {
    made = Ref<Tensor>(inStorage(pool, past->dtype, shape, count, past->storage, why));
    if (!made) return failure(why, "no room for a tensor");
  } else {
    made = Ref<Tensor>(newGrowingWithRoom(pool, past->dtype, shape, axis, why));
    if (!made) return failure(why, "no room for " + std::to_string(total) + " rows");
    if (!dryRun && count > 0) writeRows(past, made.get(), axis, 0);
  }
  if (!dryRun && count > 0) writeRows(rows, made.get(), axis, before);
  result = made.take();
  return okStatus();
}

Tensor* firstRows(MemoryPool* pool, const Tensor* grown, int64_t rows, bool givesUpOthers, dyn_status& why) {
  Storage* storage = grown->storage;
  std::vector<int64_t> shape(grown->shape(), grown->shape() + grown->rank);
  const size_t axis = storage->grownAxis;
  const int64_t count = shape[axis] > 0 ? grown->elementCount / shape[axis] * rows : 0;
  shape[axis] = rows;
  Tensor* made = inStorage(pool, grown->dtype, shape, count, storage, why);
  if (made && givesUpOthers) storage->filled.store(rows, std::memory_order_release);
  return made;
}

void fillGrowing(const std::byte* from, Tensor* to) {
  if (to->elementCount == 0) return;
  const std::span<const int64_t> shape(to->shape(), to->rank);
  std::vector<int64_t> strides(to->rank);
  stridesOf(to, strides);
  copyElements(shape, sizeBytes(to->dtype), from, stridesWithRoom(shape, 0, shape[0]), to->first, strides);
}

}  // namespace dyn::vm
