// Pieces shared by operators that compute where an element comes from: gather, scatter, pad, tile, one_hot.
//
//   DYN_TRY(Dim depth, elementDim(c, 1, 0, "depth of one_hot"));          // a dim expression, whether the depth is known or not
//   Expr at = wrapIndex(c, indexExpr(c, value), c.dim(n));                 // negative counts from the end
//   return c.checked(inRange(c, at, c.dim(n)), element, indexCheck(index, x, axis));
#pragma once

#include <string_view>

#include "compiler/loop/builder/lower_context.h"
#include "compiler/loop/expr.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

// Element k of integer operand i as a dim: its known content, else a symbol bound to the element's value at
// run time.
Dim elementDim(InferContext& c, int i, int64_t k, std::string_view reason);
// The same, demanded to be at least 0.
Result<Dim> sizeDim(InferContext& c, int i, int64_t k, std::string_view what);
// Error dtypeMismatch unless operand i holds integers.
Result<TensorOperand> indexOperand(const InferContext& c, int i, std::string_view what);
// A rank-0 tensor, or one of a single element.
Status requireSingle(InferContext& c, const TensorOperand& operand, std::string_view what);

// index + size when negative; error runtimeError unless it is in [-size, size).
Result<int64_t> wrapIndex(const EvalContext& c, int64_t index, int64_t size);

// Kernels hold no strings.
Status requireCompiled(const loop::LowerContext& c, Dtype dtype);
// As i64, for index arithmetic.
loop::Expr indexExpr(loop::LowerContext& c, loop::Expr value);
// index + size when negative.
loop::Expr wrapIndex(loop::LowerContext& c, loop::Expr index, loop::Expr size);
// 0 <= index < size.
loop::Expr inRange(loop::LowerContext& c, loop::Expr index, loop::Expr size);
// Of an index, as the model gives it, into an axis of x.
loop::Check indexCheck(loop::Expr index, Type x, size_t axis);
// "axis 0 has 30 elements"
std::string axisText(Type x, size_t axis);
// The constant of any dtype but strings: an integer, a real or a boolean.
loop::Expr constantOf(loop::LowerContext& c, const HostTensor& tensor);
loop::Expr zeroOf(loop::LowerContext& c, Dtype dtype);

// Where an operand is read along an axis of size `own` for place `at` of an axis of size `full`:
// requireStretches.
loop::Expr stretchedPlace(loop::LowerContext& c, Dim own, Dim full, loop::Expr at);

}  // namespace dyn
