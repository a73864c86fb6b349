// Growing tensors: tensors with room for more rows along one axis, as a cache of keys and values has from
// step to step. Row r of the axis lies where it would in a tensor of `room` rows, so appending moves nothing,
// though the axis is not the first.
//
// Tensors of different lengths share a storage, each sees its own rows and none is ever changed: rows are
// written once, behind all that anybody has seen (Storage::filled). Who appends to a tensor that others have
// appended to gets a storage of his own.
//
// Growing tensors come from the caller alone (dyn_value_growing), and only the builtins that name them read
// them.
#pragma once

#include <span>

#include "vm/base/status.h"
#include "vm/core/object.h"

namespace dyn::vm {

// A growing tensor in a storage of its own, its elements not yet written; room >= shape[axis].
Tensor* newGrowing(MemoryPool* pool, DataType dtype, std::span<const int64_t> shape, size_t axis,
                   int64_t room, dyn_status& why);

// `past` with the `rows` behind it along `axis`: in the storage of `past` where it has room and nobody has
// appended to it, else in one of twice the size. Of any dtype but string. With `rehearsal` nothing is
// written.
Status appendRows(MemoryPool* pool, const Tensor* past, const Tensor* rows, size_t axis, bool rehearsal,
                  Tensor*& result);

// Distances between neighbours along each axis, in elements: `to` has one for each axis.
void stridesOf(const Tensor* tensor, std::span<int64_t> to);

// All elements side by side, row-major: sizeBytes() of them. Not for strings of growing tensors, which there
// are not.
void copyDense(const Tensor* from, std::byte* to);
void copyFromDense(const std::byte* from, Tensor* to);

}  // namespace dyn::vm
