// The operands of a product of matrices, with batch axes before them.
#pragma once

#include <span>
#include <vector>

#include "vm/base/flat_call.h"

namespace dyn::vm::kernels {

// A tensor of rank 2 and more as matrices, perhaps with its axes in another order: axis i of the view is axis
// order[i] of the tensor.
struct MatrixView {
  std::vector<int64_t> shape, strides;

  explicit MatrixView(const TensorView* tensor, std::span<const int32_t> order = {}) {
    const auto rank = static_cast<size_t>(tensor->rank);
    std::vector<int64_t> own(rank);
    tensor->writeStrides(own);
    for (size_t axis = 0; axis < rank; ++axis) {
      const size_t from = order.empty() ? axis : static_cast<size_t>(order[axis]);
      shape.push_back(tensor->shape()[from]);
      strides.push_back(own[from]);
    }
  }
  void swapMatrix() {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  }
  int64_t rows() const { return shape[shape.size() - 2]; }
  int64_t columns() const { return shape.back(); }
  int64_t rowStride() const { return strides[strides.size() - 2]; }
  int64_t columnStride() const { return strides.back(); }
};

// The order of `rank` axes that stands in the call's numbers from `first` on: a permutation.
Status readOrder(const FlatCall& call, size_t first, int64_t rank, std::vector<int32_t>& order);

// Offsets of the operand's matrix for each batch of C, with numpy broadcasting; false when the shapes do not
// fit.
bool batchOffsets(const MatrixView& operand, const MatrixView& c, std::vector<int64_t>& offsets);

}  // namespace dyn::vm::kernels
