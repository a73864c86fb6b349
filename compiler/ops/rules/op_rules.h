// Pieces of type and shape rules that many operators share.
//
//   Status inferTranspose(InferContext& c) {
//     DYN_TRY(TensorOperand x, tensorOperand(c, 0));
//     DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -1), x.rank()));
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/op_def.h"

namespace dyn {

// The tensor type of an operand, unpacked.
struct TensorOperand {
  Type type;
  Shape dims;
  Dtype dtype = Dtype::f32;
  int rank() const { return static_cast<int>(dims.size()); }
};

// Error typeMismatch when operand i is no tensor, badOperands when it is left out.
Result<TensorOperand> tensorOperand(const InferContext& c, int i);
// The same, of exactly this rank (error rankMismatch).
Result<TensorOperand> tensorOperand(const InferContext& c, int i, int rank);

// Error dtypeMismatch unless the operand's dtype is of one of the classes; `what` names the operand:
// "condition".
Status requireClass(const InferContext& c, const TensorOperand& operand,
                    std::initializer_list<DtypeClass> classes, std::string_view what);
Status requireDtype(const InferContext& c, const TensorOperand& operand, Dtype dtype, std::string_view what);
// i8 or u8.
Status requireByte(const InferContext& c, const TensorOperand& operand, std::string_view what);
// Both dtypes equal.
Status requireSameDtype(const InferContext& c, const TensorOperand& a, const TensorOperand& b);

// axis + rank when negative; error badAttribute unless it is in [-rank, rank). `rank` may be that of the
// result (unsqueeze).
Result<int> axisOf(const InferContext& c, int64_t axis, int rank);
Result<int> axisOf(const EvalContext& c, int64_t axis, int rank);
// The axes normalised, ascending; error badAttribute on repeats.
Result<std::vector<int>> axesOf(const InferContext& c, std::span<const int64_t> axes, int rank);

// All elements of operand i as known constants; nullopt when any is unknown.
std::optional<std::vector<int64_t>> constantElements(const InferContext& c, int i);
// The elements of an operand of rank 0 or 1 as dims where known (null Dim: unknown element); error when even
// their number is unknown.
Result<Contents> vectorContents(const InferContext& c, int i, std::string_view what);
// The same of an operand that must have `count` elements: the run checks that where it is not known.
Result<Contents> vectorContents(InferContext& c, int i, int64_t count, std::string_view what);
// How many elements rank-1 operand i holds; nullopt when not constant.
std::optional<int64_t> vectorLength(const InferContext& c, int i);

// NumPy broadcast of two shapes aligned at the right, through InferContext::broadcast.
Result<Shape> broadcastShapes(InferContext& c, const Shape& a, const Shape& b);

// Demands that `own` is 1 or `full`; where neither is known it is decided when the program runs.
Status requireStretches(InferContext& c, Dim own, Dim full, std::string_view what);

// Result 0 gets this tensor type.
void setTensor(InferContext& c, Shape dims, Dtype dtype, int result = 0);
// Dims of integer constants.
Dim constantDim(const InferContext& c, int64_t value);
// Number of elements of a constant shape; nullopt when a dim is symbolic.
std::optional<int64_t> constantElementCount(const Shape& dims);
// The sizes of a constant shape of which no one is negative; nullopt when a dim is symbolic.
std::optional<std::vector<int64_t>> constantSizes(const Shape& dims);
// The elements that a view of known ones shows, row by row: the view's sizes, and how far apart its steps
// along each axis lie in `all`, counted from `first`.
Contents contentsAlong(const Contents& all, const std::vector<int64_t>& sizes,
                       const std::vector<int64_t>& strides, int64_t first = 0);
inline constexpr int64_t kMaxContents = 1024;

// A real as an integer element, as kernels store it: truncated, at the ends of the type's range (types under
// a byte wrap), NaN as 0.
void setTruncated(HostTensor& result, int64_t i, double value);

}  // namespace dyn
