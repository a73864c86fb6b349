// Convolutions whose windows' elements are each moved by an offset: deform_conv, and deform_columns, the
// elements that it sums, laid out so that a product of matrices can do the sums.
#include <cmath>

#include "compiler/ops/image/sampling_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/window_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;
using loop::UnaryOp;

namespace {

constexpr AttributeSpec kDeformAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"pads", AttributeKind::integers, false, "[begin..., end...]; default 0",
     Allowed::byRule("begin of each spatial axis, then end of each")},
    {"group", AttributeKind::integer, false, "groups of channels; default 1", Allowed::atLeast(1)},
    {"offset_group", AttributeKind::integer, false, "groups of channels that share their offsets; default 1",
     Allowed::atLeast(1)},
    {"kernel_shape", AttributeKind::integers, false, "demanded of w when given",
     Allowed::byRule("the window of w")},
};
constexpr AttributeSpec kColumnAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"pads", AttributeKind::integers, false, "[begin..., end...]; default 0",
     Allowed::byRule("begin of each spatial axis, then end of each")},
    {"offset_group", AttributeKind::integer, false, "groups of channels that share their offsets; default 1",
     Allowed::atLeast(1)},
    {"kernel_shape", AttributeKind::integers, true, "the window", Allowed::atLeast(0)},
};

// Where an operation has what; columns have no weights and no bias.
struct Operands {
  int offset, mask;
};
constexpr int kWeights = 1, kBias = 3;
constexpr Operands kOfConvolution{2, 4}, kOfColumns{1, 2};

// --- types

// The axes of the window, once offsets and mask are known to be of its size.
Result<std::vector<WindowAxis>> movedWindow(InferContext& c, const TensorOperand& x, const Shape& kernel,
                                            Operands at) {
  if (x.rank() < 3) return c.error(DiagnosticId::rankMismatch, "the operand is [n, c, spatial...]");
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  DYN_TRY(TensorOperand offset, tensorOperand(c, at.offset, x.rank()));
  DYN_CHECK(requireSameDtype(c, x, offset));
  const int spatial = x.rank() - 2;
  const int64_t offsets = c.attributes().integer("offset_group", 1);
  if (offsets < 1) return c.error(DiagnosticId::badAttribute, "group and offset_group are positive");
  DYN_TRY(Window window, windowOf(c.op(), spatial));
  DYN_CHECK(c.requireEqual(mod(x.dims[1], constantDim(c, offsets)), constantDim(c, 0),
                           "offset_group divides the input channels"));
  const std::vector<WindowAxis> axes = windowAxes(window, x.dims, kernel);
  DYN_CHECK(requireWindowFits(c, window, axes));
  Dim taps = constantDim(c, offsets);
  for (Dim size : kernel) taps = taps * size;
  DYN_CHECK(c.requireEqual(offset.dims[0], x.dims[0], "batches of operand and offsets"));
  DYN_CHECK(c.requireEqual(offset.dims[1], taps * spatial, "offsets for each element of the window"));
  for (size_t k = 0; k < axes.size(); ++k)
    DYN_CHECK(c.requireEqual(offset.dims[k + 2], axes[k].output, "offsets for each place of the window"));
  if (c.hasOperand(at.mask)) {
    DYN_TRY(TensorOperand mask, tensorOperand(c, at.mask, x.rank()));
    DYN_CHECK(requireSameDtype(c, x, mask));
    DYN_CHECK(c.requireEqual(mask.dims[0], x.dims[0], "batches of operand and mask"));
    DYN_CHECK(c.requireEqual(mask.dims[1], taps, "a factor for each element of the window"));
    for (size_t k = 0; k < axes.size(); ++k)
      DYN_CHECK(c.requireEqual(mask.dims[k + 2], axes[k].output, "factors for each place of the window"));
  }
  return axes;
}

Status inferDeformConv(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand w, tensorOperand(c, kWeights, x.rank()));
  DYN_CHECK(requireSameDtype(c, x, w));
  const int64_t group = c.attributes().integer("group", 1);
  if (group < 1) return c.error(DiagnosticId::badAttribute, "group and offset_group are positive");
  if (x.rank() < 3) return c.error(DiagnosticId::rankMismatch, "the operand is [n, c, spatial...]");
  if (c.attributes().has("kernel_shape")) {
    DYN_TRY(std::vector<int64_t> demanded, kernelShape(c.op(), x.rank() - 2));
    for (size_t k = 0; k < demanded.size(); ++k)
      DYN_CHECK(c.requireEqual(w.dims[k + 2], constantDim(c, demanded[k]), "kernel_shape"));
  }
  DYN_CHECK(c.requireEqual(x.dims[1], w.dims[1] * group, "input channels of the convolution"));
  DYN_CHECK(c.requireEqual(mod(w.dims[0], constantDim(c, group)), constantDim(c, 0),
                           "group divides the output channels"));
  const Shape kernel(w.dims.begin() + 2, w.dims.end());
  DYN_TRY(std::vector<WindowAxis> axes, movedWindow(c, x, kernel, kOfConvolution));
  if (c.hasOperand(kBias)) {
    DYN_TRY(TensorOperand bias, tensorOperand(c, kBias, 1));
    DYN_CHECK(c.requireEqual(bias.dims[0], w.dims[0], "one bias for each output channel"));
  }
  Shape shape{x.dims[0], w.dims[0]};
  for (const WindowAxis& a : axes) shape.push_back(a.output);
  setTensor(c, shape, x.dtype);
  return {};
}

Status inferDeformColumns(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  if (x.rank() < 3) return c.error(DiagnosticId::rankMismatch, "the operand is [n, c, spatial...]");
  DYN_TRY(std::vector<int64_t> sizes, kernelShape(c.op(), x.rank() - 2));
  Shape shape{x.dims[0], x.dims[1]};
  for (int64_t size : sizes) shape.push_back(constantDim(c, size));
  DYN_TRY(std::vector<WindowAxis> axes, movedWindow(c, x, Shape(shape.begin() + 2, shape.end()), kOfColumns));
  for (const WindowAxis& a : axes) shape.push_back(a.output);
  setTensor(c, shape, x.dtype);
  return {};
}

// --- reference evaluation

// Linear between the two neighbours; what lies outside counts as 0.
std::vector<Tap> linearTaps(double x, int64_t size) {
  const double base = std::floor(x), part = x - base;
  const auto tap = [&](double at, double weight) {
    const bool inside = at >= 0 && at < static_cast<double>(size);
    return Tap{inside ? static_cast<int64_t>(at) : 0, weight, !inside};
  };
  return {tap(base, 1 - part), tap(base + 1, part)};
}

// The elements of one operation's windows.
class MovedElements {
 public:
  MovedElements(const EvalContext& c, Operands at, std::vector<ConcreteAxis> axes, int64_t offsets)
      : x_(c.operand(0)),
        offset_(c.operand(at.offset)),
        mask_(c.hasOperand(at.mask) ? &c.operand(at.mask) : nullptr),
        axes_(std::move(axes)),
        offsets_(offsets),
        strides_(rowMajorStrides(x_.shape())) {
    for (const ConcreteAxis& a : axes_) {
      taps_ *= a.kernel;
      places_ *= a.output;
    }
  }

  bool goTogether() const {
    return x_.shape()[1] % offsets_ == 0 && offset_.shape()[1] == offsets_ * taps_ * spatial() &&
           sizeProduct(offset_.shape(), 2, offset_.rank()) == places_;
  }
  int64_t taps() const { return taps_; }
  int64_t places() const { return places_; }

  // Element `tap`, whose index in the window is `k`, of the window at `o`.
  double at(int64_t n, int64_t channel, int64_t tap, std::span<const int64_t> k,
            std::span<const int64_t> o) const {
    int64_t place = 0;
    for (size_t i = 0; i < axes_.size(); ++i) place = place * axes_[i].output + o[i];
    const int64_t row = (n * offsets_ + channel / (x_.shape()[1] / offsets_)) * taps_ + tap;
    std::vector<std::vector<Tap>> along{{{n}}, {{channel}}};
    for (size_t i = 0; i < axes_.size(); ++i) {
      const double moved = offset_.realAt((row * spatial() + static_cast<int64_t>(i)) * places_ + place);
      along.push_back(linearTaps(static_cast<double>(axes_[i].at(o[i], k[i])) + moved, axes_[i].input));
    }
    double value = 0;
    for (const Tap& one : combined(along, strides_))
      value += one.outside ? 0 : one.weight * x_.realAt(one.at);
    return mask_ ? value * mask_->realAt(row * places_ + place) : value;
  }

 private:
  int64_t spatial() const { return static_cast<int64_t>(axes_.size()); }

  const HostTensor &x_, &offset_;
  const HostTensor* mask_;
  std::vector<ConcreteAxis> axes_;
  int64_t offsets_;
  std::vector<int64_t> strides_;
  int64_t taps_ = 1, places_ = 1;
};

Status evaluateDeformConv(EvalContext& c) {
  const HostTensor &x = c.operand(0), &w = c.operand(kWeights);
  const size_t spatial = x.shape().size() - 2;
  const int64_t group = c.attributes().integer("group", 1);
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(spatial)));
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  DYN_TRY(std::vector<ConcreteAxis> axes, concreteWindow(c, window, x.shape(), kernel));
  std::vector<int64_t> shape{x.shape()[0], w.shape()[0]};
  for (const ConcreteAxis& a : axes) shape.push_back(a.output);
  const MovedElements elements(c, kOfConvolution, std::move(axes), c.attributes().integer("offset_group", 1));
  const int64_t inGroup = w.shape()[1], taps = elements.taps();
  if (x.shape()[1] != inGroup * group || w.shape()[0] % group != 0 || !elements.goTogether())
    return c.error(DiagnosticId::shapeMismatch, "operand, weights and offsets do not go together");
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  OffsetWalk walk(shape, {});
  for (int64_t flat = 0; flat < result.elementCount(); ++flat, walk.next()) {
    const int64_t n = walk.index()[0], m = walk.index()[1];
    double sum = c.hasOperand(kBias) ? c.operand(kBias).realAt(m) : 0;
    for (int64_t in = 0; in < inGroup; ++in) {
      OffsetWalk tap(kernel, {});
      for (int64_t k = 0; k < taps; ++k, tap.next()) {
        const double value = elements.at(n, m / (shape[1] / group) * inGroup + in, k, tap.index(),
                                         std::span(walk.index()).subspan(2));
        sum += value * w.realAt((m * inGroup + in) * taps + k);
      }
    }
    result.setReal(flat, sum);
  }
  c.setResult(0, std::move(result));
  return {};
}

Status evaluateDeformColumns(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const size_t spatial = x.shape().size() - 2;
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(spatial)));
  DYN_TRY(std::vector<int64_t> kernel, kernelShape(c.op(), static_cast<int>(spatial)));
  DYN_TRY(std::vector<ConcreteAxis> axes, concreteWindow(c, window, x.shape(), kernel));
  std::vector<int64_t> shape{x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  for (const ConcreteAxis& a : axes) shape.push_back(a.output);
  const MovedElements elements(c, kOfColumns, std::move(axes), c.attributes().integer("offset_group", 1));
  if (!elements.goTogether())
    return c.error(DiagnosticId::shapeMismatch, "operand and offsets do not go together");
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  OffsetWalk walk(shape, {});
  for (int64_t flat = 0; flat < result.elementCount(); ++flat, walk.next()) {
    const std::span index(walk.index());
    result.setReal(flat, elements.at(index[0], index[1], flat / elements.places() % elements.taps(),
                                     index.subspan(2, spatial), index.subspan(2 + spatial)));
  }
  c.setResult(0, std::move(result));
  return {};
}

// --- loops

// The element `k` of the window at `o`, read between its neighbours and weighted by the mask.
Result<Expr> movedElement(LowerContext& c, Operands operands, const std::vector<WindowAxis>& axes, Expr n,
                          Expr channel, std::span<const Expr> k, std::span<const Expr> o) {
  const Dtype computed = accumulationDtype(c.resultType(0).dtype());
  const int64_t offsets = c.attributes().integer("offset_group", 1);
  const Dim channels = c.operandType(0).dims()[1];
  Expr row = c.integer(0);
  if (offsets != 1) row = floorDiv(channel, c.dim(floorDiv(channels, channels.context().constant(offsets))));
  for (size_t i = 0; i < axes.size(); ++i) row = row * c.dim(axes[i].kernel) + k[i];
  std::vector<std::vector<LoweredTap>> along{{{n, Expr(), Expr()}}, {{channel, Expr(), Expr()}}};
  std::vector<Expr> at{n, Expr()};
  at.insert(at.end(), o.begin(), o.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    const WindowAxis& a = axes[i];
    at[1] = row * static_cast<int64_t>(axes.size()) + static_cast<int64_t>(i);
    DYN_TRY(Expr moved, c.read(operands.offset, at));
    const Expr regular = o[i] * a.stride + k[i] * a.dilation - c.dim(a.padBegin);
    const Expr place = castTo(regular, computed) + castTo(moved, computed);
    const Expr base = unary(UnaryOp::floor, place), part = place - base;
    std::vector<LoweredTap> pair;
    for (int64_t side = 0; side < 2; ++side) {
      LoweredTap tap;
      tap.at = castTo(base, Dtype::i64) + side;
      tap.weight = side == 0 ? c.number(1, computed) - part : part;
      tap.inside = tap.at >= c.integer(0) && tap.at < c.dim(a.input);
      pair.push_back(tap);
    }
    along.push_back(std::move(pair));
  }
  DYN_TRY(Expr value, weightedSum(c, 0, along, computed));
  if (!c.hasOperand(operands.mask)) return value;
  at[1] = row;
  DYN_TRY(Expr factor, c.read(operands.mask, at));
  return value * castTo(factor, computed);
}

Result<Expr> lowerDeformConv(LowerContext& c, int, std::span<const Expr> index) {
  const Shape &x = c.operandType(0).dims(), &w = c.operandType(kWeights).dims();
  const Dtype dtype = c.resultType(0).dtype(), computed = accumulationDtype(dtype);
  const int64_t group = c.attributes().integer("group", 1);
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(x.size()) - 2));
  const std::vector<WindowAxis> axes = windowAxes(window, x, Shape(w.begin() + 2, w.end()));
  const Expr firstChannel =
      group == 1 ? c.integer(0)
                 : floorDiv(index[1], c.dim(floorDiv(w[0], w[0].context().constant(group)))) * c.dim(w[1]);
  const Shape extents(w.begin() + 1, w.end());
  DYN_TRY(Expr sum, reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
            DYN_TRY(Expr value, movedElement(c, kOfConvolution, axes, index[0], firstChannel + k[0],
                                             k.subspan(1), index.subspan(2)));
            std::vector<Expr> at{index[1]};
            at.insert(at.end(), k.begin(), k.end());
            DYN_TRY(Expr weight, c.read(kWeights, at));
            return value * castTo(weight, computed);
          }));
  if (c.hasOperand(kBias)) {
    const Expr at[] = {index[1]};
    DYN_TRY(Expr bias, c.read(kBias, at));
    sum = sum + castTo(bias, computed);
  }
  return castTo(sum, dtype);
}

Result<Expr> lowerDeformColumns(LowerContext& c, int, std::span<const Expr> index) {
  const Shape &x = c.operandType(0).dims(), &columns = c.resultType(0).dims();
  const size_t spatial = x.size() - 2;
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(spatial)));
  const Shape kernel(columns.begin() + 2, columns.begin() + 2 + static_cast<std::ptrdiff_t>(spatial));
  DYN_TRY(Expr value, movedElement(c, kOfColumns, windowAxes(window, x, kernel), index[0], index[1],
                                   index.subspan(2, spatial), index.subspan(2 + spatial)));
  return castTo(value, c.resultType(0).dtype());
}

}  // namespace

namespace ops {

const OpDef deform_convOp{
    .name = "deform_conv",
    .summary = "convolution with an offset for each element of its windows",
    .cls = OpClass::reduction,
    .minOperands = 3,
    .maxOperands = 5,
    .attributes = kDeformAttributes,
    .infer = inferDeformConv,
    .evaluate = evaluateDeformConv,
    .lowering = LoweringKind::loops,
    .lower = lowerDeformConv,
    .operandRules = kAnyElements,
    .doc =
        "x [n, c, s...], w [m, c/group, k...], offset [n, offset_group * product of k * r, o...], bias [m], "
        "mask [n, offset_group * product of k, o...] -> [n, m, o...], o as of conv; between elements x is "
        "linear, outside 0",
    .example =
        "fn @main(%x: Tensor[(n, 1, 4, 4), f32], %w: Tensor[(2, 1, 2, 2), f32], %o: Tensor[(n, 8, 3, 3), "
        "f32]) { %y = deform_conv(%x, %w, %o) return %y }",
};

const OpDef deform_columnsOp{
    .name = "deform_columns",
    .summary = "the elements that a deform_conv sums, window by window",
    .cls = OpClass::injective,
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kColumnAttributes,
    .infer = inferDeformColumns,
    .evaluate = evaluateDeformColumns,
    .lowering = LoweringKind::loops,
    .lower = lowerDeformColumns,
    .operandRules = kAnyElements,
    .doc =
        "x [n, c, s...], offset [n, offset_group * product of k * r, o...], mask [n, offset_group * product "
        "of k, o...] -> [n, c, k..., o...], k the window kernel_shape, o as of deform_conv",
    .example =
        "fn @main(%x: Tensor[(n, 1, 4, 4), f32], %o: Tensor[(n, 8, 3, 3), f32]) "
        "{ %y = deform_columns(%x, %o) {kernel_shape = [2, 2]} return %y }",
};

}  // namespace ops
}  // namespace dyn
