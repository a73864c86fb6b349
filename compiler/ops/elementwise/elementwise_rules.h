// Rules shared by the element-by-element operators: one function per kind of rule, given to the rows of
// elementwise_unary.cpp and elementwise_binary.cpp.
#pragma once

#include <functional>

#include "compiler/loop/builder/lower_context.h"
#include "compiler/loop/expr.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

// Result 0 has the type of operand 0. Contents pass through.
Status inferSame(InferContext& c);
// The same, for real element types only / for signed numbers / for all numbers.
Status inferSameReal(InferContext& c);
Status inferSameSigned(InferContext& c);
Status inferSameNumber(InferContext& c);

// Result 0 = function(operand 0), element by element: reals as double, integers as int64 (u64: its bits),
// booleans as 0 and 1.
Status evaluateRealMap(EvalContext& c, const std::function<double(double)>& function);
Status evaluateIntegerMap(EvalContext& c, const std::function<int64_t(int64_t)>& function);

// (Shape a, Shape b) broadcast; both dtypes equal; the result's dtype is theirs, or boolean for comparisons.
Result<Shape> inferBroadcastPair(InferContext& c, TensorOperand* a, TensorOperand* b);

// The element of operand 0 at this index.
Result<loop::Expr> readSame(loop::LowerContext& c, std::span<const loop::Expr> index);

// Contents of a broadcast pair, element by element of the result; nullopt when either is unknown or the
// result is too large.
struct ContentPair {
  Contents a, b;
};
std::optional<ContentPair> broadcastContents(const InferContext& c, const Shape& result);

}  // namespace dyn
