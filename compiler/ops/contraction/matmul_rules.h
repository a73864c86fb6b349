// How the operands of a product of matrices go together: NumPy's rules for vectors and stacks of matrices,
// and transposed operands.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ops/rules/reduce_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

// An attribute that is 1, or 0 where it is left out; of whatever context.
template <typename Context>
bool flag(const Context& c, std::string_view name) {
  return c.attributes().integer(name, 0) != 0;
}

// Axes of one operand of matmul, seen as [batch..., rows, columns] after its transposition; -1: a vector has
// no such axis.
struct MatrixView {
  int rank = 0;
  int rowAxis = -1, columnAxis = -1;
  int batchRank() const { return rank > 2 ? rank - 2 : 0; }
};
enum class MatrixSide : uint8_t { left, right };
// A vector is a row at the left, a column at the right.
MatrixView matrixView(int rank, MatrixSide side, bool transposed);

// [batch..., m, n] of a and b; the demand that inner dims agree is made. Ranks are at least 1.
Result<Shape> matmulShape(InferContext& c, const Shape& a, const Shape& b, bool transposeA, bool transposeB);

// Concrete extents of a product and the offsets of each batch.
struct ConcreteProduct {
  std::vector<int64_t> batch, shape;
  int64_t rows = 1, columns = 1, depth = 1;
  std::vector<int64_t> batchStridesA, batchStridesB;
  int64_t rowStepA = 0, depthStepA = 0, depthStepB = 0, columnStepB = 0;
};
Result<ConcreteProduct> concreteProduct(const EvalContext& c, std::span<const int64_t> a,
                                        std::span<const int64_t> b, bool transposeA, bool transposeB);

// store(flat, aOffset, bOffset) for each element (batch, row, column) of the product, the offsets being those
// of depth 0.
template <typename Store>
void forEachProduct(const ConcreteProduct& p, const Store& store) {
  OffsetWalk walk(p.batch, {p.batchStridesA, p.batchStridesB});
  const int64_t batches = sizeProduct(p.batch, 0, static_cast<int>(p.batch.size()));
  int64_t flat = 0;
  for (int64_t batch = 0; batch < batches; ++batch, walk.next()) {
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        store(flat++, walk.offset(0) + i * p.rowStepA, walk.offset(1) + j * p.columnStepB);
      }
    }
  }
}

// All elements as f64.
std::vector<double> realsOf(const HostTensor& tensor);
// One row of a product: sums[j] = sum over k of a[k * stepA] * b[k * depthStepB + j * columnStepB], in
// ascending k.
void sumRow(int64_t depth, const double* a, int64_t stepA, const double* b, int64_t depthStepB,
            int64_t columnStepB, std::span<double> sums);

// Products with a right matrix packed at load, whose attributes n and k are its columns and rows.
// [..., k] → [..., n]; the demand that a has k columns is made.
Result<Shape> packedProductShape(InferContext& c, const Shape& a);
// The reference's packing is one panel of all columns: b [k, n] (transposed: [n, k]) row-major in one axis.
Result<HostTensor> onePanel(const HostTensor& b, bool transposed);

// Sum over k of a[..., i, k] * b[..., k, j], where `product` is given the elements and their (batch..., i,
// k), (batch..., k, j) places.
using ProductMap = std::function<Result<loop::Expr>(loop::Expr a, std::span<const loop::Expr> aAt,
                                                    loop::Expr b, std::span<const loop::Expr> bAt)>;
Result<loop::Expr> lowerProduct(loop::LowerContext& c, std::span<const loop::Expr> index, bool transposeA,
                                bool transposeB, const ProductMap& product);

}  // namespace dyn
