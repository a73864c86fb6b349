// Growing tensors: tensors in a storage with room for more rows along one axis, as a cache of keys and values
// has from step to step. Row r of the axis lies where it would in a tensor of as many rows as there is room
// for, so appending moves nothing, though the axis is not the first: such a tensor is strided (strided.h), or
// dense where no axis before it has more than one element.
//
// Tensors of different lengths share a storage, each sees its own rows and none is ever changed: rows are
// written once, behind all that anybody can see (Storage::filled). Who appends to a tensor that others have
// appended to, or to a part of one, gets a storage of his own.
//
// Growing tensors come from the caller alone (dyn_value_growing).
#pragma once

#include <span>

#include "vm/base/status.h"
#include "vm/core/object/object.h"

namespace dyn::vm {

// A growing tensor in a storage of its own, its elements not yet written; room >= shape[axis].
Tensor* newGrowing(MemoryPool* pool, DataType dtype, std::span<const int64_t> shape, size_t axis,
                   int64_t room, dyn_status& why);

// The same with room for twice the rows that it has, or where memory is short, for these.
Tensor* newGrowingWithRoom(MemoryPool* pool, DataType dtype, std::span<const int64_t> shape, size_t axis,
                           dyn_status& why);

// Is it all rows along `axis`, from the first on, of a storage with room?
bool growsAlong(const Tensor* tensor, size_t axis);

// `past`, which grows along `axis`, with the `rows` behind it: in the storage of `past` where it has room and
// nobody has appended to it, else in one of twice the size. Of any dtype but string. With `dryRun` nothing
// is written.
Status appendRows(MemoryPool* pool, const Tensor* past, const Tensor* rows, size_t axis, bool dryRun,
                  Tensor*& result);

// The first `rows` rows of `grown` in the same storage. With `givesUpOthers`, when nothing else refers to
// that, what is appended takes the place of the others.
Tensor* firstRows(MemoryPool* pool, const Tensor* grown, int64_t rows, bool givesUpOthers, dyn_status& why);

// Writes all elements of a tensor whose memory is the caller's, from those side by side.
void fillGrowing(const std::byte* from, Tensor* to);

}  // namespace dyn::vm
