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
      return failure(DYN_BAD_PROGRAM, "an order of axes is no permutation");
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

bool batchOffsets(const MatrixView& operand, const MatrixView& c, std::vector<int64_t>& offsets) {
  if (!batchesFit(operand, c)) return false;
  const size_t batchRank = c.rank - 2, missing = c.rank - operand.rank;
  const int64_t count = batchCount(c);
  std::array<int64_t, kMostAxes> strides;
  for (size_t axis = 0; axis < batchRank; ++axis)
    strides[axis] =
        axis < missing || operand.shape[axis - missing] == 1 ? 0 : operand.strides[axis - missing];
  offsets.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = 0;
    for (size_t axis = batchRank; axis-- > 0;) {
      offset += rest % c.shape[axis] * strides[axis];
      rest /= c.shape[axis];
    }
    offsets[static_cast<size_t>(i)] = offset;
  }
  return true;
}

}  // namespace dyn::vm::kernels
