// Pieces shared by the operators on shapes: sizes from operands, min and max with what the solver knows,
// copying by index map.
#pragma once

#include <functional>

#include "compiler/loop/builder/lower_context.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

// The reason of the fact that reshape adds. It holds behind reshape's own check alone.
inline constexpr const char* kElementCountReason = "reshape keeps the element count";

// The smaller (larger) of both, by proof where there is one.
Dim leastOf(const InferContext& c, Dim a, Dim b);
Dim greatestOf(const InferContext& c, Dim a, Dim b);
bool provenLessEqual(const InferContext& c, Dim a, Dim b);

// Element `index` of integer operand i as a dim: known, or a `?` bound at run time.
Dim elementOf(InferContext& c, int i, int64_t index, const Contents& known, std::string_view reason);
// All elements of a vector operand, as sizes: each >= 0 (a check where not proved).
Result<Shape> sizesOf(InferContext& c, int i, std::string_view what);
// Constant elements, or error unsupportedFeature: `what` decides the rank of the result.
Result<std::vector<int64_t>> constantAxes(const InferContext& c, int i, std::string_view what);
Dim productOf(const InferContext& c, const Shape& dims);

// Result 0 = the operand's elements at source(index), element by element; a source of -1 takes `otherwise`
// (or zero when null).
using SourceOf = std::function<Result<int64_t>(std::span<const int64_t> index)>;
Status evaluateCopy(EvalContext& c, const HostTensor& from, std::vector<int64_t> shape,
                    const SourceOf& source, const HostTensor* otherwise = nullptr, int result = 0);
// Row-major position.
int64_t flatIndex(std::span<const int64_t> index, std::span<const int64_t> strides);

// Result axis i of a transpose that type-checks is operand axis order[i]: `perm` with its negative axes
// counted, reversed when it is left out.
std::vector<int64_t> transposeOrder(const Attributes& attributes, int rank);

// Contents that stay the same because only the shape changes.
void passContents(InferContext& c);
// index + rank where index < 0.
loop::Expr wrapped(loop::Expr index, loop::Expr size);

}  // namespace dyn
