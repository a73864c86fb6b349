#include "compiler/ops/contraction/matmul_rules.h"

#include <algorithm>
#include <cstring>

namespace dyn {

using loop::Expr;
using loop::LowerContext;

MatrixView matrixView(int rank, MatrixSide side, bool transposed) {
  MatrixView view;
  view.rank = rank;
  if (rank == 1) {
    (side == MatrixSide::left ? view.columnAxis : view.rowAxis) = 0;
    return view;
  }
  view.rowAxis = transposed ? rank - 1 : rank - 2;
  view.columnAxis = transposed ? rank - 2 : rank - 1;
  return view;
}

Result<Shape> matmulShape(InferContext& c, const Shape& a, const Shape& b, bool transposeA, bool transposeB) {
  if (a.empty() || b.empty()) return c.error(DiagnosticId::rankMismatch, "a matmul takes no scalars");
  const MatrixView left = matrixView(static_cast<int>(a.size()), MatrixSide::left, transposeA);
  const MatrixView right = matrixView(static_cast<int>(b.size()), MatrixSide::right, transposeB);
  DYN_CHECK(c.requireEqual(a[static_cast<size_t>(left.columnAxis)], b[static_cast<size_t>(right.rowAxis)],
                           "inner dims of the product"));
  const Shape batchA(a.begin(), a.begin() + left.batchRank()),
      batchB(b.begin(), b.begin() + right.batchRank());
  DYN_TRY(Shape result, broadcastShapes(c, batchA, batchB));
  if (left.rowAxis >= 0) result.push_back(a[static_cast<size_t>(left.rowAxis)]);
  if (right.columnAxis >= 0) result.push_back(b[static_cast<size_t>(right.columnAxis)]);
  return result;
}

Result<ConcreteProduct> concreteProduct(const EvalContext& c, std::span<const int64_t> a,
                                        std::span<const int64_t> b, bool transposeA, bool transposeB) {
  ConcreteProduct p;
  const MatrixView left = matrixView(static_cast<int>(a.size()), MatrixSide::left, transposeA);
  const MatrixView right = matrixView(static_cast<int>(b.size()), MatrixSide::right, transposeB);
  const std::vector<int64_t> stepsA = rowMajorStrides(a), stepsB = rowMajorStrides(b);
  p.depth = a[static_cast<size_t>(left.columnAxis)];
  const auto batch = broadcastConcrete(a.first(static_cast<size_t>(left.batchRank())),
                                       b.first(static_cast<size_t>(right.batchRank())));
  if (p.depth != b[static_cast<size_t>(right.rowAxis)] || !batch) {
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(a) + " and " + shapeText(b) + " cannot be multiplied");
  }
  p.batch = *batch;
  p.shape = p.batch;
  if (left.rowAxis >= 0) {
    p.rows = a[static_cast<size_t>(left.rowAxis)];
    p.rowStepA = stepsA[static_cast<size_t>(left.rowAxis)];
    p.shape.push_back(p.rows);
  }
  if (right.columnAxis >= 0) {
    p.columns = b[static_cast<size_t>(right.columnAxis)];
    p.columnStepB = stepsB[static_cast<size_t>(right.columnAxis)];
    p.shape.push_back(p.columns);
  }
  p.depthStepA = stepsA[static_cast<size_t>(left.columnAxis)];
  p.depthStepB = stepsB[static_cast<size_t>(right.rowAxis)];
  auto batchStrides = [&](std::span<const int64_t> shape, const std::vector<int64_t>& steps, int batchRank) {
    std::vector<int64_t> strides(p.batch.size(), 0);
    for (int k = 0; k < batchRank; ++k) {
      const size_t from = static_cast<size_t>(batchRank - 1 - k);
      if (shape[from] != 1) strides[p.batch.size() - 1 - static_cast<size_t>(k)] = steps[from];
    }
    return strides;
  };
  p.batchStridesA = batchStrides(a, stepsA, left.batchRank());
  p.batchStridesB = batchStrides(b, stepsB, right.batchRank());
  return p;
}

namespace {

Result<Dim> oneDim(const InferContext& c, std::string_view name) {
  const Shape dims = c.attributes().dims(name);
  if (dims.size() == 1) return dims[0];
  return c.error(DiagnosticId::badAttribute, std::string(name) + " is one dim");
}

}  // namespace

Result<Shape> packedProductShape(InferContext& c, const Shape& a) {
  DYN_TRY(Dim n, oneDim(c, "n"));
  DYN_TRY(Dim k, oneDim(c, "k"));
  DYN_CHECK(c.requireEqual(a.back(), k, "inner dims of the product"));
  Shape shape = a;
  shape.back() = n;
  return shape;
}

std::vector<double> realsOf(const HostTensor& tensor) {
  std::vector<double> reals(static_cast<size_t>(tensor.elementCount()));
  if (tensor.dtype() == Dtype::f32)
    std::copy_n(tensor.as<float>(), reals.size(), reals.begin());
  else
    for (size_t i = 0; i < reals.size(); ++i) reals[i] = tensor.realAt(static_cast<int64_t>(i));
  return reals;
}

void sumRow(int64_t depth, const double* a, int64_t stepA, const double* b, int64_t depthStepB,
            int64_t columnStepB, std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  // Through b as it lies in memory.
  if (columnStepB == 1) {
    for (int64_t k = 0; k < depth; ++k)
      for (size_t j = 0; j < sums.size(); ++j)
        sums[j] += a[k * stepA] * b[k * depthStepB + static_cast<int64_t>(j)];
    return;
  }
  for (size_t j = 0; j < sums.size(); ++j, b += columnStepB)
    for (int64_t k = 0; k < depth; ++k) sums[j] += a[k * stepA] * b[k * depthStepB];
}

Result<HostTensor> onePanel(const HostTensor& b, bool transposed) {
  if (!transposed) return b.reshaped({b.elementCount()});
  const int64_t n = b.shape()[0], k = b.shape()[1];
  DYN_TRY(HostTensor result, newTensor(b.dtype(), {n * k}));
  const size_t bytes = static_cast<size_t>(storageBytes(b.dtype()));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      memcpy(result.mutableData() + static_cast<size_t>(j * n + i) * bytes,
             b.data() + static_cast<size_t>(i * k + j) * bytes, bytes);
  return result;
}

namespace {

// Index of an operand: batch axes of the result aligned at the right (size 1: 0), then its row and column.
std::vector<Expr> operandIndex(LowerContext& c, int operand, const MatrixView& view,
                               std::span<const Expr> batch, Expr row, Expr column) {
  const Shape& dims = c.operandType(operand).dims();
  std::vector<Expr> at(static_cast<size_t>(view.rank));
  for (int k = 0; k < view.batchRank(); ++k) {
    const size_t axis = static_cast<size_t>(view.batchRank() - 1 - k);
    const Expr own = batch[batch.size() - 1 - static_cast<size_t>(k)];
    const Dim size = c.solver().canonical(dims[axis]);
    // A size that may be 1 at run time is asked then.
    at[axis] = size.isConstant(1)  ? c.integer(0)
               : size.isConstant() ? own
                                   : select(c.dim(size) == c.integer(1), c.integer(0), own);
  }
  if (view.rowAxis >= 0) at[static_cast<size_t>(view.rowAxis)] = row;
  if (view.columnAxis >= 0) at[static_cast<size_t>(view.columnAxis)] = column;
  return at;
}

}  // namespace

Result<Expr> lowerProduct(LowerContext& c, std::span<const Expr> index, bool transposeA, bool transposeB,
                          const ProductMap& product) {
  const MatrixView left = matrixView(c.operandType(0).rank(), MatrixSide::left, transposeA);
  const MatrixView right = matrixView(c.operandType(1).rank(), MatrixSide::right, transposeB);
  Expr row, column;
  if (right.columnAxis >= 0) {
    column = index.back();
    index = index.first(index.size() - 1);
  }
  if (left.rowAxis >= 0) {
    row = index.back();
    index = index.first(index.size() - 1);
  }
  const Dim depth[] = {c.operandType(0).dims()[static_cast<size_t>(left.columnAxis)]};
  return reduceOver(c, loop::ReduceOp::sum, depth, [&](std::span<const Expr> k) -> Result<Expr> {
    const std::vector<Expr> aAt = operandIndex(c, 0, left, index, row, k[0]);
    const std::vector<Expr> bAt = operandIndex(c, 1, right, index, k[0], column);
    DYN_TRY(Expr a, c.read(0, aAt));
    DYN_TRY(Expr b, c.read(1, bAt));
    return product(a, aAt, b, bAt);
  });
}

}  // namespace dyn
