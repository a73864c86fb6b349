// The operands of a product of matrices, with batch axes before them.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "vm/base/flat_call.h"

namespace dyn::vm::kernels {

inline constexpr size_t kMostAxes = 64;  // of a tensor that is seen as matrices

// An order of axes: axis i of the view is axis order[i] of the tensor. Empty: as they are.
struct AxisOrder {
  std::array<int32_t, kMostAxes> axes;
  size_t count = 0;
};

// A tensor of rank 2 to kMostAxes as matrices, perhaps with its axes in another order. Made for every call:
// it takes no memory.
struct MatrixView {
  size_t rank;
  std::array<int64_t, kMostAxes> shape, strides;

  explicit MatrixView(const TensorView* tensor, const AxisOrder* order = nullptr) : rank(tensor->rank) {
    if (!order || order->count == 0) {
      std::copy_n(tensor->shape(), rank, shape.data());
      tensor->writeStrides({strides.data(), rank});
      return;
    }
    std::array<int64_t, kMostAxes> own;
    tensor->writeStrides({own.data(), rank});
    for (size_t axis = 0; axis < rank; ++axis) {
      const auto from = static_cast<size_t>(order->axes[axis]);
      shape[axis] = tensor->shape()[from];
      strides[axis] = own[from];
    }
  }
  void swapMatrix() {
    std::swap(shape[rank - 1], shape[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
  }
  int64_t rows() const { return shape[rank - 2]; }
  int64_t columns() const { return shape[rank - 1]; }
  int64_t rowStride() const { return strides[rank - 2]; }
  int64_t columnStride() const { return strides[rank - 1]; }
};

// The order of axes that stands in the call's numbers: a permutation.
Status readOrder(std::span<const int32_t> given, AxisOrder& order);

// How many batches a result has.
int64_t batchCount(const MatrixView& c);
// Do the operand's batch axes fit those of C, with numpy broadcasting?
bool batchesFit(const MatrixView& operand, const MatrixView& c);

// Where the matrix of each batch of C begins in an operand, in elements. Made for every call: it takes no
// memory.
class BatchOffsets {
 public:
  BatchOffsets() = default;  // all at 0
  // The batch axes of the operand fit those of C.
  BatchOffsets(const MatrixView& operand, const MatrixView& c);

  int64_t operator[](int64_t batch) const {
    int64_t offset = 0;
    for (size_t axis = rank_; axis-- > 1;) {
      offset += batch % shape_[axis] * strides_[axis];
      batch /= shape_[axis];
    }
    return rank_ > 0 ? offset + batch * strides_[0] : 0;
  }
  bool areAllZero() const { return rank_ == 0; }
  // Is batch i at i * step, for so many batches?
  bool areEvery(int64_t step, int64_t batches) const {
    if (rank_ == 0) return batches <= 1 || step == 0;
    return rank_ == 1 && strides_[0] == step;
  }

 private:
  // Axes of one element are left out, and those that run through are one.
  size_t rank_ = 0;
  std::array<int64_t, kMostAxes> shape_, strides_;
};

}  // namespace dyn::vm::kernels
