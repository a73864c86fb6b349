// Rules shared by the operators that fold axes: which axes, what stays, and reductions in loop IR that may
// fail while their body is built.
//
//   DYN_TRY(FoldedAxes folded, foldedAxes(c));  // attributes keepdims, noop_with_empty_axes; operand 1: axes
//   DYN_TRY(Expr sum, foldAxes(c, ReduceOp::sum, folded, index, [](Expr x) { return x; }));
#pragma once

#include <functional>
#include <vector>

#include "compiler/loop/builder/lower_context.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

// The axes of operand 0 that are folded.
struct FoldedAxes {
  std::vector<bool> folds;  // by axis of operand 0
  bool keepDims = true;
  // The axes are values: every axis counts as folded, over 1 element where it is not among them.
  bool areValues = false;
  bool contains(int axis) const { return folds[static_cast<size_t>(axis)]; }
  int count() const;
  int rank() const { return static_cast<int>(folds.size()); }
};

// From operand 1 (axes; left out or empty: all axes, or none with noop_with_empty_axes) and keepdims.
// Axes that are not known when it is compiled must keep their dims (error unsupportedFeature): which are left
// would not be known.
Result<FoldedAxes> foldedAxes(const InferContext& c);
Result<FoldedAxes> foldedAxes(const EvalContext& c);
Result<FoldedAxes> foldedAxes(loop::LowerContext& c);
// These axes exactly.
FoldedAxes foldOnly(int rank, std::span<const int> axes, bool keepDims);

// [..., folded → 1 or gone, ...]
Shape foldedShape(const InferContext& c, const FoldedAxes& folded, const Shape& dims);
// The same where the axes are values: each dim, or 1, as they say.
Result<Shape> shapeFoldedByValues(InferContext& c, const Shape& dims);
std::vector<int64_t> foldedShape(const FoldedAxes& folded, std::span<const int64_t> shape);
// For each axis of the operand its stride in the result, 0 for folded axes.
std::vector<int64_t> foldedStrides(const FoldedAxes& folded, std::span<const int64_t> shape);

// The type sums of this dtype are made in: f32 for narrower reals, else the type itself.
Dtype accumulationDtype(Dtype dtype);

using ExprBody = std::function<Result<loop::Expr>(std::span<const loop::Expr>)>;
// LowerContext::reduce for a body that may fail; without extents the body itself.
Result<loop::Expr> reduceOver(loop::LowerContext& c, loop::ReduceOp op, std::span<const Dim> extents,
                              const ExprBody& body);
// Folds map(element of operand 0, at its full index) over the folded axes; `index` is the result's.
using ElementMap = std::function<loop::Expr(loop::Expr element, std::span<const loop::Expr> at)>;
Result<loop::Expr> foldAxes(loop::LowerContext& c, loop::ReduceOp op, const FoldedAxes& folded,
                            std::span<const loop::Expr> index, const ElementMap& map);
// The same where `at` is an index of the operand, of which the folded axes are replaced.
Result<loop::Expr> foldRow(loop::LowerContext& c, loop::ReduceOp op, const FoldedAxes& folded,
                           std::span<const loop::Expr> at, const ElementMap& map);
// Number of elements folded into one, as i64.
loop::Expr foldedCount(loop::LowerContext& c, const FoldedAxes& folded);

// Small words for loop IR.
loop::Expr castTo(loop::Expr value, Dtype dtype);
loop::Expr unary(loop::UnaryOp op, loop::Expr value);
inline loop::Expr exponential(loop::Expr value) { return unary(loop::UnaryOp::exp, value); }
inline loop::Expr logarithm(loop::Expr value) { return unary(loop::UnaryOp::log, value); }
inline loop::Expr squareRoot(loop::Expr value) { return unary(loop::UnaryOp::sqrt, value); }
// False for integers.
loop::Expr isNotANumber(loop::Expr value);

}  // namespace dyn
