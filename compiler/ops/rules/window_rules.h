// Sliding windows: strides, pads and dilations of convolutions and pools over any number of spatial axes,
// with symbolic sizes.
//
// The arithmetic stands here once, over dims; reference evaluation asks it with constant dims.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

#define DYN_SLICE_ATTRIBUTE                                                                                 \
  {                                                                                                         \
    "slice", AttributeKind::dims, false,                                                                    \
        "of some rows of an image: the pad above those of the operand, and how many are made; made by the " \
        "pass `row_slices`",                                                                                \
        Allowed::byRule("two dims")                                                                         \
  }

#define DYN_PADDING_ATTRIBUTE                                                                            \
  {                                                                                                      \
    "padding", AttributeKind::dims, false,                                                               \
        "beside pads, begin of each spatial axis, then end of each, less than 0: cut; made by the pass " \
        "`fold_pads`; default 0",                                                                        \
        Allowed::byRule("two dims for each spatial axis")                                                \
  }

enum class AutoPad : uint8_t { none, valid, sameUpper, sameLower };

// Of the first spatial axis, where an operation makes some of the rows of an image: its operand are the rows
// that their windows reach, `top` what they reach beyond its first, and `count` how many are made.
struct RowSlice {
  Dim top, count;
};

// The attributes strides, dilations, pads ([begin..., end...]), padding, auto_pad, ceil_mode and slice, with
// defaults filled in.
struct Window {
  std::vector<int64_t> strides, dilations, padsBegin, padsEnd;
  AutoPad autoPad = AutoPad::none;
  bool ceilMode = false;
  std::optional<RowSlice> slice;
  Shape padding;  // [begin..., end...], added to the pads; empty: nothing is
  bool isSame() const { return autoPad == AutoPad::sameUpper || autoPad == AutoPad::sameLower; }
};
// Error badAttribute, with the operation's place.
Result<Window> windowOf(const Op& op, int spatialRank);
// kernel_shape of pools and (optional) of convolutions.
Result<std::vector<int64_t>> kernelShape(const Op& op, int spatialRank);
// Strides and dilations, which windowOf has found to be below 2^31, as numbers of a builtin.
std::vector<int32_t> numbersOf(std::span<const int64_t> list);
// One spatial axis: the output element o reads input o * stride - padBegin + k * dilation, 0 <= k < kernel.
struct WindowAxis {
  Dim input, kernel, output, padBegin, padEnd;
  int64_t stride = 1, dilation = 1;
  // False when every element read lies inside the input whatever the sizes are.
  bool mayLeaveInput = true;
};
WindowAxis windowAxis(const Window& window, int axis, Dim input, Dim kernel);
// All spatial axes of x [n, c, spatial...].
std::vector<WindowAxis> windowAxes(const Window& window, const Shape& x, const Shape& kernel);
// Demands that the window fits into the padded input.
Status requireWindowFits(InferContext& c, const Window& window, const std::vector<WindowAxis>& axes);

// The same with concrete sizes.
struct ConcreteAxis {
  int64_t input = 0, kernel = 0, output = 0, padBegin = 0, padEnd = 0, stride = 1, dilation = 1;
  int64_t at(int64_t output, int64_t k) const { return output * stride - padBegin + k * dilation; }
};
Result<std::vector<ConcreteAxis>> concreteWindow(const EvalContext& c, const Window& window,
                                                 std::span<const int64_t> x, std::span<const int64_t> kernel);

// The input's spatial index for output index `o` and kernel index `k`, and the condition that it lies inside
// (null: it always does).
struct WindowPlace {
  std::vector<loop::Expr> at;
  loop::Expr inside;
};
WindowPlace windowPlace(loop::LowerContext& c, const std::vector<WindowAxis>& axes,
                        std::span<const loop::Expr> o, std::span<const loop::Expr> k);
// Both conditions; a null one holds always.
loop::Expr bothHold(loop::Expr a, loop::Expr b);
// `value` where the condition holds (null: always), else `otherwise`.
loop::Expr guarded(loop::Expr condition, loop::Expr value, loop::Expr otherwise);

}  // namespace dyn
