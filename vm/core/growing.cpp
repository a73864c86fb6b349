#include "vm/core/growing.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "vm/base/checked.h"

namespace dyn::vm {
namespace {

// A tensor as `outer` blocks of rows, bytes of a row, and the bytes from block to block.
struct Blocks {
  int64_t outer = 1, rows = 0;
  size_t rowBytes = 0, step = 0;

  Blocks(const Tensor* tensor, size_t axis)
      : rows(tensor->shape()[axis]), rowBytes(sizeBytes(tensor->dtype)) {
    for (size_t i = 0; i < tensor->rank; ++i) {
      if (i < axis) outer *= tensor->shape()[i];
      if (i > axis) rowBytes *= static_cast<size_t>(tensor->shape()[i]);
    }
    step = static_cast<size_t>(tensor->room ? tensor->room : rows) * rowBytes;
  }
  // The same rows without room.
  Blocks dense() const {
    Blocks result = *this;
    result.step = static_cast<size_t>(rows) * rowBytes;
    return result;
  }
};

// Rows of `from` at row `first` of `to`, block by block.
void copyRows(const Blocks& from, const std::byte* source, const Blocks& to, std::byte* target,
              int64_t first) {
  const size_t bytes = static_cast<size_t>(from.rows) * from.rowBytes;
  if (bytes == 0) return;
  target += static_cast<size_t>(first) * to.rowBytes;
  for (int64_t i = 0; i < from.outer; ++i, source += from.step, target += to.step)
    memcpy(target, source, bytes);
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
  Ref<Storage> storage(newStorage(pool, static_cast<uint64_t>(bytes), 0, why));
  if (!storage) return nullptr;
  storage->filled.store(shape[axis], std::memory_order_relaxed);
  Tensor* tensor = newView(pool, dtype, rank, shape.data(), count, storage.get(), storage->data, why);
  if (!tensor) return nullptr;
  tensor->grownAxis = static_cast<uint8_t>(axis);
  tensor->room = room;
  return tensor;
}

Status appendRows(MemoryPool* pool, const Tensor* past, const Tensor* rows, size_t axis, bool rehearsal,
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
  if (total <= past->room && (rehearsal || past->storage->filled.compare_exchange_strong(
                                               latest, total, std::memory_order_acq_rel))) {
    made = Ref<Tensor>(
        newView(pool, past->dtype, past->rank, shape.data(), count, past->storage, past->storage->data, why));
    if (!made) return failure(why, "no room for a tensor");
    made->grownAxis = past->grownAxis;
    made->room = past->room;
  } else {
    int64_t room = 0;
    if (!checkedMul(total, 2, room)) room = total;
    made = Ref<Tensor>(newGrowing(pool, past->dtype, shape, axis, room, why));
    if (!made) made = Ref<Tensor>(newGrowing(pool, past->dtype, shape, axis, total, why));
    if (!made) return failure(why, "no room for " + std::to_string(total) + " rows");
    if (!rehearsal && count > 0)
      copyRows({past, axis}, past->data, {made.get(), axis}, static_cast<std::byte*>(made->storage->data), 0);
  }
  if (!rehearsal && count > 0)
    copyRows({rows, axis}, rows->data, {made.get(), axis}, static_cast<std::byte*>(made->storage->data),
             before);
  result = made.take();
  return okStatus();
}

void stridesOf(const Tensor* tensor, std::span<int64_t> to) {
  int64_t stride = 1;
  for (size_t axis = tensor->rank; axis-- > 0;) {
    to[axis] = stride;
    // Without elements sizes beside a 0 may be anything.
    if (tensor->elementCount > 0)
      stride *= tensor->room && axis == tensor->grownAxis ? tensor->room : tensor->shape()[axis];
  }
}

void copyDense(const Tensor* from, std::byte* to) {
  if (from->elementCount == 0) return;
  if (!from->room) {
    memcpy(to, from->data, from->sizeBytes());
    return;
  }
  const Blocks blocks(from, from->grownAxis);
  copyRows(blocks, from->data, blocks.dense(), to, 0);
}

void copyFromDense(const std::byte* from, Tensor* to) {
  if (to->elementCount == 0) return;
  const Blocks blocks(to, to->grownAxis);
  copyRows(blocks.dense(), from, blocks, to->data, 0);
}

}  // namespace dyn::vm
