#include "compiler/ops/rules/window_rules.h"

#include <algorithm>

#include "compiler/dims/ragged_dim.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

Error badWindow(const Op& op, std::string message) {
  Error error = makeError(DiagnosticId::badAttribute, std::move(message), op.place);
  error.diagnostic().op = op.def ? std::string(op.def->name) : "";
  return error;
}

Result<std::vector<int64_t>> perAxis(const Op& op, std::string_view name, int count, int64_t standard,
                                     int64_t least) {
  if (!op.attributes.has(name)) return std::vector<int64_t>(static_cast<size_t>(count), standard);
  std::vector<int64_t> values = op.attributes.integers(name);
  if (static_cast<int>(values.size()) != count)
    return badWindow(op, std::string(name) + " has " + std::to_string(values.size()) + " numbers, not " +
                             std::to_string(count));
  for (int64_t value : values) {
    if (value < least || value > INT32_MAX)
      return badWindow(op, std::string(name) + " cannot hold " + std::to_string(value));
  }
  return values;
}

}  // namespace

std::vector<int32_t> numbersOf(std::span<const int64_t> list) {
  std::vector<int32_t> numbers;
  for (int64_t value : list) numbers.push_back(static_cast<int32_t>(value));
  return numbers;
}

Result<Window> windowOf(const Op& op, int spatialRank) {
  Window w;
  DYN_TRY(w.strides, perAxis(op, "strides", spatialRank, 1, 1));
  DYN_TRY(w.dilations, perAxis(op, "dilations", spatialRank, 1, 1));
  DYN_TRY(std::vector<int64_t> pads, perAxis(op, "pads", 2 * spatialRank, 0, 0));
  const std::string mode = op.attributes.string("auto_pad", "NOTSET");
  if (mode == "VALID") {
    w.autoPad = AutoPad::valid;
  } else if (mode == "SAME_UPPER") {
    w.autoPad = AutoPad::sameUpper;
  } else if (mode == "SAME_LOWER") {
    w.autoPad = AutoPad::sameLower;
  } else if (mode != "NOTSET") {
    return badWindow(op, "auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, not " + mode);
  }
  // Zeros beside auto_pad say nothing; some exporters write them.
  const bool hasPads = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; });
  if (w.autoPad != AutoPad::none && hasPads)
    return badWindow(op,
                     "auto_pad is " + mode + ", and pads are given too: one of them contradicts the other");
  w.padsBegin.assign(pads.begin(), pads.begin() + spatialRank);
  w.padsEnd.assign(pads.begin() + spatialRank, pads.end());
  w.ceilMode = op.attributes.integer("ceil_mode", 0) != 0;
  if (op.attributes.has("slice")) {
    const Shape slice = op.attributes.dims("slice");
    if (slice.size() != 2) return badWindow(op, "slice is two dims: a pad, and how many rows are made");
    w.slice = {slice[0], slice[1]};
  }
  if (op.attributes.has("padding")) {
    w.padding = op.attributes.dims("padding");
    if (static_cast<int>(w.padding.size()) != 2 * spatialRank)
      return badWindow(op, "padding is two dims for each spatial axis");
    if (w.autoPad != AutoPad::none)
      return badWindow(op, "auto_pad is " + mode + ", and padding is given too");
  }
  return w;
}

Result<std::vector<int64_t>> kernelShape(const Op& op, int spatialRank) {
  if (!op.attributes.has("kernel_shape")) return badWindow(op, "kernel_shape is missing");
  return perAxis(op, "kernel_shape", spatialRank, 1, 1);
}

WindowAxis windowAxis(const Window& window, int axis, Dim input, Dim kernel) {
  const size_t k = static_cast<size_t>(axis);
  DimContext& dims = input.context();
  WindowAxis a;
  a.input = input;
  a.kernel = kernel;
  a.stride = window.strides[k];
  a.dilation = window.dilations[k];
  const Dim stride = dims.constant(a.stride), reach = (kernel - 1) * a.dilation + 1;
  if (axis == 0 && window.slice) {
    a.padBegin = window.slice->top;
    a.output = window.slice->count;
    a.padEnd = dims.constant(window.padsEnd[k]);
    return a;
  }
  if (window.isSame()) {
    a.output = ceilDiv(input, stride);
    const Dim total = max((a.output - 1) * a.stride + reach - input, dims.constant(0));
    const Dim half = floorDiv(total, dims.constant(2));
    a.padBegin = window.autoPad == AutoPad::sameUpper ? half : total - half;
    a.padEnd = total - a.padBegin;
    return a;
  }
  a.padBegin = dims.constant(window.padsBegin[k]);
  a.padEnd = dims.constant(window.padsEnd[k]);
  if (!window.padding.empty()) {
    a.padBegin = a.padBegin + window.padding[k];
    a.padEnd = a.padEnd + window.padding[window.padding.size() / 2 + k];
  }
  const Dim free = input + a.padBegin + a.padEnd - reach;
  a.output = floorDiv(free, stride) + 1;
  // Rounded up, but no window may begin in the padding at the end.
  if (window.ceilMode) a.output = min(ceilDiv(free, stride) + 1, ceilDiv(input + a.padBegin, stride));
  a.mayLeaveInput = !a.padBegin.isConstant(0) || !a.padEnd.isConstant(0) || window.ceilMode;
  return a;
}

std::vector<WindowAxis> windowAxes(const Window& window, const Shape& x, const Shape& kernel) {
  std::vector<WindowAxis> axes;
  for (size_t k = 0; k < kernel.size(); ++k)
    axes.push_back(windowAxis(window, static_cast<int>(k), x[k + 2], kernel[k]));
  return axes;
}

// Rounded up, the last window may hang over the end by less than a stride; so may the first one.
// A sequence that is too short for any window, as an empty one is, has no element in the result.
static int64_t slackOf(const Window& window, int64_t stride) { return window.ceilMode ? stride - 1 : 0; }

Status requireWindowFits(InferContext& c, const Window& window, const std::vector<WindowAxis>& axes) {
  if (window.isSame()) return {};
  for (const WindowAxis& a : axes) {
    if (window.slice && &a == axes.data()) continue;
    const int64_t slack = isRagged(a.input) ? a.stride : slackOf(window, a.stride);
    DYN_CHECK(c.requireLessEqual((a.kernel - 1) * a.dilation + 1, a.input + a.padBegin + a.padEnd + slack,
                                 "the window fits into the padded input"));
  }
  return {};
}

Result<std::vector<ConcreteAxis>> concreteWindow(const EvalContext& c, const Window& window,
                                                 std::span<const int64_t> x,
                                                 std::span<const int64_t> kernel) {
  const Type made = c.op().results.empty() ? Type() : c.op().results[0].type;
  const bool ofSequences = made && made.isTensor() && isRagged(made.dims());
  DimContext dims;
  Window concrete = window;
  if (window.slice) {
    DYN_TRY(const int64_t top, c.dimValue(window.slice->top));
    DYN_TRY(const int64_t count, c.dimValue(window.slice->count));
    concrete.slice = {dims.constant(top), dims.constant(count)};
  }
  for (Dim& pad : concrete.padding) {
    DYN_TRY(const int64_t count, c.dimValue(pad));
    pad = dims.constant(count);
  }
  std::vector<ConcreteAxis> axes;
  for (size_t k = 0; k < kernel.size(); ++k) {
    const bool sliced = window.slice && k == 0;
    const WindowAxis a =
        windowAxis(concrete, static_cast<int>(k), dims.constant(x[k + 2]), dims.constant(kernel[k]));
    const auto output = a.output.constant(), begin = a.padBegin.constant(), end = a.padEnd.constant();
    if (!output || !begin || !end)
      return c.error(DiagnosticId::dimOverflow, "a window's size does not fit in 64 bits");
    if (*output < 0 ||
        (!window.isSame() && !ofSequences && !sliced &&
         (kernel[k] - 1) * a.dilation + 1 > x[k + 2] + *begin + *end + slackOf(window, a.stride))) {
      return c.error(DiagnosticId::shapeCheckFailed, "the window of " + std::to_string(kernel[k]) +
                                                         " does not fit into an input of " +
                                                         std::to_string(x[k + 2]));
    }
    axes.push_back({x[k + 2], kernel[k], *output, *begin, *end, a.stride, a.dilation});
  }
  return axes;
}

WindowPlace windowPlace(LowerContext& c, const std::vector<WindowAxis>& axes, std::span<const Expr> o,
                        std::span<const Expr> k) {
  WindowPlace place;
  for (size_t i = 0; i < axes.size(); ++i) {
    const WindowAxis& a = axes[i];
    const Expr at = o[i] * a.stride + k[i] * a.dilation - c.dim(a.padBegin);
    if (a.mayLeaveInput) place.inside = bothHold(place.inside, at >= c.integer(0) && at < c.dim(a.input));
    place.at.push_back(at);
  }
  return place;
}

Expr bothHold(Expr a, Expr b) {
  // `!a` would build an expression, and so would `a && b` as a condition.
  return a ? (b ? a && b : a) : b;
}

Expr guarded(Expr condition, Expr value, Expr otherwise) {
  return condition ? select(condition, value, otherwise) : value;
}

}  // namespace dyn
