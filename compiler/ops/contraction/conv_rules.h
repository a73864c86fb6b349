// What convolutions of all element types share: shapes, reference evaluation, the sum in loops, the builtins'
// numbers.
#pragma once

#include <functional>

#include "compiler/ops/rules/window_rules.h"

namespace dyn {

inline constexpr AttributeSpec kConvAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"pads", AttributeKind::integers, false, "[begin..., end...]; default 0",
     Allowed::byRule("begin of each spatial axis, then end of each")},
    {"auto_pad", AttributeKind::string, false,
     "NOTSET (pads), VALID, SAME_UPPER or SAME_LOWER; default NOTSET",
     Allowed::oneOf("NOTSET VALID SAME_UPPER SAME_LOWER")},
    {"group", AttributeKind::integer, false, "groups of channels; default 1", Allowed::atLeast(1)},
    {"kernel_shape", AttributeKind::integers, false, "demanded of w when given",
     Allowed::byRule("the window of w")},
};

// x [n, channels, spatial...] and w of the same rank checked: groups, the kernel's shape.
Status checkConvShapes(InferContext& c, TensorOperand* x, TensorOperand* w);
// The result of x with weights of the shape w, both of one rank.
Result<Shape> convShape(InferContext& c, const TensorOperand& x, const Shape& w);

// Sums in double, or in integers that wrap, from element offsets of both operands.
class ProductSum {
 public:
  ProductSum(const HostTensor& a, const HostTensor& b) : a_(a), b_(b), real_(isReal(a.dtype())) {}
  void add(int64_t aAt, int64_t bAt) {
    if (real_) {
      sum_ += a_.realAt(aAt) * b_.realAt(bAt);
    } else {
      whole_ += static_cast<uint64_t>(a_.intAt(aAt)) * static_cast<uint64_t>(b_.intAt(bAt));
    }
  }
  // Plus bias[channel] when there is a bias; starts again.
  void store(HostTensor* to, int64_t at, const HostTensor* bias, int64_t channel) {
    if (real_) {
      to->setReal(at, sum_ + (bias ? bias->realAt(channel) : 0));
    } else {
      to->setInt(at, static_cast<int64_t>(whole_ + static_cast<uint64_t>(bias ? bias->intAt(channel) : 0)));
    }
    sum_ = 0;
    whole_ = 0;
  }

 private:
  const HostTensor &a_, &b_;
  bool real_;
  double sum_ = 0;
  uint64_t whole_ = 0;
};

// The convolution of x and w, plus the bias (null: none), all of one element type.
Result<HostTensor> convolved(const EvalContext& c, const HostTensor& x, const HostTensor& w,
                             const HostTensor* bias);
// As result 0.
Status convolve(EvalContext& c, const HostTensor& x, const HostTensor& w, const HostTensor* bias);

// The sum over the window at `index` of the products of elements of operands 0 and 1; `left` and `right` make
// of an element the number that is multiplied. Outside of the input there is 0.
using ConvElement = std::function<Result<loop::Expr>(loop::Expr element)>;
Result<loop::Expr> convSum(loop::LowerContext& c, std::span<const loop::Expr> index, Dtype computed,
                           const ConvElement& left, const ConvElement& right);

// Of the calls of builtins: the number of spatial axes, groups, strides, dilations; and the pads before.
template <typename Numbers>
Status fillWindow(const Op& op, int spatialRank, Numbers& n) {
  const int64_t group = op.attributes.integer("group", 1);
  if (group > INT32_MAX) return makeError(DiagnosticId::badAttribute, "group is too large", op.place);
  DYN_TRY(Window window, windowOf(op, spatialRank));
  n.axes = spatialRank;
  n.group = static_cast<int32_t>(group);
  n.strides = numbersOf(window.strides);
  n.dilations = numbersOf(window.dilations);
  return {};
}
Status beginPads(const Op& op, const Shape& x, const Shape& w, std::vector<Dim>* pads);

}  // namespace dyn
