#include "vm/kernels/gemm/matrix_view.h"

#include <algorithm>

namespace dyn::vm::kernels {

Status readOrder(std::span<const int32_t> given, AxisOrder& order) {
  uint64_t seen = 0;
  static_assert(kMostAxes <= 64);
  if (given.size() > kMostAxes) return failure(DYN_BAD_PROGRAM, "too many axes");
  order.count = given.size();
  for (size_t axis = 0; axis < order.count; ++axis) {
    const int32_t from = given[axis];
    if (from < 0 || static_cast<size_t>(from) >= order.count || (seen >> from & 1) != 0)
      return failure(DYN_BAD_PROGRAM, "an order of axes is not a permutation");
    seen |= uint64_t{1} << from;
    order.axes[axis] = from;
  }
  return okStatus();
}

int64_t batchCount(const MatrixView& c) {
  // Where C has no elements no bytes stand behind the other sizes: nothing may be computed from them.
  if (std::find(c.shape.begin(), c.shape.begin() + c.rank, 0) != c.shape.begin() + c.rank) return 0;
  int64_t count = 1;
  for (size_t axis = 0; axis + 2 < c.rank; ++axis) count *= c.shape[axis];
  return count;
}

bool batchesFit(const MatrixView& operand, const MatrixView& c) {
  if (operand.rank > c.rank) return false;
  const size_t missing = c.rank - operand.rank;
  for (size_t own = 0; own + 2 < operand.rank; ++own)
    if (operand.shape[own] != 1 && operand.shape[own] != c.shape[missing + own]) return false;
  return true;
}

BatchOffsets::BatchOffsets(const MatrixView& operand, const MatrixView& c) {
  const size_t missing = c.rank - operand.rank;
  for (size_t axis = 0; axis + 2 < c.rank; ++axis) {
    if (c.shape[axis] == 1) continue;
    const bool repeats = axis < missing || operand.shape[axis - missing] == 1;
    const int64_t stride = repeats ? 0 : operand.strides[axis - missing];
    if (rank_ > 0 && strides_[rank_ - 1] == stride * c.shape[axis]) {
      shape_[rank_ - 1] *= c.shape[axis];
    } else {
      shape_[rank_] = c.shape[axis];
      ++rank_;
    }
    strides_[rank_ - 1] = stride;
  }
  if (rank_ == 1 && strides_[0] == 0) rank_ = 0;
}

}  // namespace dyn::vm::kernels
