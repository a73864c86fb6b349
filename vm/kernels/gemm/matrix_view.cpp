#include "vm/kernels/gemm/matrix_view.h"

#include <algorithm>

namespace dyn::vm::kernels {

Status readOrder(const FlatCall& call, size_t first, int64_t rank, std::vector<int32_t>& order) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (size_t axis = 0; axis < static_cast<size_t>(rank); ++axis) {
    const int64_t from = call.number(first + axis, -1);
    if (from < 0 || from >= rank || seen[static_cast<size_t>(from)])
      return failure(DYN_BAD_PROGRAM, "an order of axes is no permutation");
    seen[static_cast<size_t>(from)] = true;
    order.push_back(static_cast<int32_t>(from));
  }
  return okStatus();
}

bool batchOffsets(const MatrixView& operand, const MatrixView& c, std::vector<int64_t>& offsets) {
  const size_t batchRank = c.shape.size() - 2, operandBatchRank = operand.shape.size() - 2;
  if (operandBatchRank > batchRank) return false;
  // Where C has no elements no bytes stand behind the other sizes: nothing may be computed from them.
  const bool empty = std::find(c.shape.begin(), c.shape.end(), 0) != c.shape.end();
  int64_t count = empty ? 0 : 1;
  std::vector<int64_t> strides(batchRank, 0);
  for (size_t axis = 0; axis < batchRank; ++axis) {
    if (!empty) count *= c.shape[axis];
    if (axis < batchRank - operandBatchRank) continue;
    const size_t own = axis - (batchRank - operandBatchRank);
    if (operand.shape[own] != 1 && operand.shape[own] != c.shape[axis]) return false;
    if (operand.shape[own] != 1) strides[axis] = operand.strides[own];
  }
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
