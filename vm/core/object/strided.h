// Strided tensors: whose elements do not lie side by side, as those of a transposed, sliced, reversed or
// spread one, which is a view of another's memory. Element [i0, i1, ...] lies at first + i0 * strides[0] + i1
// * strides[1] + ..., in elements.
//
//   Ref<Tensor> columns(newStridedView(pool, DataType::f32, 2, {n, m}, {1, n}, ...));  // [m, n] transposed
//   columns->data                            // null: nobody takes it for dense
//   copyDense(columns.get(), memory)         // n * m elements, row-major
//
// Who reads tensors says whether it takes strides: a builtin in its row (STRIDED), else it is given dense
// ones.
#pragma once

#include <span>

#include "vm/core/object/object.h"

namespace dyn::vm {

// Do the elements lie side by side, row-major? Strides along axes of one element, and of tensors without
// elements, may be anything.
bool isRowMajor(std::span<const int64_t> shape, std::span<const int64_t> strides);

// Distances between neighbours along each axis, in elements, also of a dense tensor: `to` has one for each
// axis.
void stridesOf(const Tensor* tensor, std::span<int64_t> to);

// Where the elements of such a view lie, in elements from its first one: [low, high]. False when that
// overflows. Without elements [0, -1].
bool reachOf(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t& low, int64_t& high);

// All elements side by side, row-major: sizeBytes() of them. Strings are pointers that stay the source's.
void copyDense(const Tensor* from, std::byte* to);
// The elements of one place at another: memory of elements of so many bytes, each side with its strides. The
// places do not overlap.
void copyElements(std::span<const int64_t> shape, size_t elementBytes, const std::byte* from,
                  std::span<const int64_t> fromStrides, std::byte* to, std::span<const int64_t> toStrides);

}  // namespace dyn::vm
