// Convolutions over any number of spatial axes.
#include <functional>

#include "compiler/ops/op_table.h"
#include "compiler/ops/window_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

constexpr AttributeSpec kConvAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1"},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1"},
    {"pads", AttributeKind::integers, false, "[begin..., end...]; default 0"},
    {"auto_pad", AttributeKind::string, false,
     "NOTSET (pads), VALID, SAME_UPPER or SAME_LOWER; default NOTSET"},
    {"group", AttributeKind::integer, false, "groups of channels; default 1"},
    {"kernel_shape", AttributeKind::integers, false, "demanded of w when given"},
};

// x and w checked: rank, groups, the kernel's shape.
Status checkShapes(InferContext& c, TensorOperand* x, TensorOperand* w) {
  DYN_TRY(*x, tensorOperand(c, 0));
  if (x->rank() < 3)
    return c.error(DiagnosticId::rankMismatch,
                   "it needs [n, channels, spatial...], not " + x->type.toString());
  DYN_TRY(*w, tensorOperand(c, 1, x->rank()));
  if (c.attributes().integer("group", 1) < 1)
    return c.error(DiagnosticId::badAttribute, "group is at least 1");
  if (c.attributes().has("kernel_shape")) {
    DYN_TRY(std::vector<int64_t> kernel, kernelShape(c.op(), x->rank() - 2));
    for (size_t k = 0; k < kernel.size(); ++k)
      DYN_CHECK(c.requireEqual(w->dims[k + 2], constantDim(c, kernel[k]), "kernel_shape and the weights"));
  }
  return {};
}

// The same, and both of one type of numbers.
Status checkOperands(InferContext& c, TensorOperand* x, TensorOperand* w) {
  DYN_CHECK(checkShapes(c, x, w));
  DYN_CHECK(requireClass(c, *x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the input"));
  return requireSameDtype(c, *x, *w);
}

Status checkBias(InferContext& c, const TensorOperand& x, Dim channels) {
  if (!c.hasOperand(2)) return {};
  DYN_TRY(TensorOperand bias, tensorOperand(c, 2, 1));
  DYN_CHECK(requireSameDtype(c, x, bias));
  return c.requireEqual(bias.dims[0], channels, "one bias per output channel");
}

Result<Shape> convShape(InferContext& c, const TensorOperand& x, const TensorOperand& w) {
  const int64_t group = c.attributes().integer("group", 1);
  DYN_CHECK(c.requireEqual(x.dims[1], w.dims[1] * group, "input channels of the convolution"));
  if (group > 1)
    DYN_CHECK(c.requireEqual(mod(w.dims[0], constantDim(c, group)), constantDim(c, 0),
                             "output channels are a multiple of group"));
  DYN_TRY(Window window, windowOf(c.op(), x.rank() - 2));
  const std::vector<WindowAxis> axes = windowAxes(window, x.dims, Shape(w.dims.begin() + 2, w.dims.end()));
  DYN_CHECK(requireWindowFits(c, window, axes));
  Shape shape{x.dims[0], w.dims[0]};
  for (const WindowAxis& a : axes) shape.push_back(a.output);
  return shape;
}

Status inferConv(InferContext& c) {
  TensorOperand x, w;
  DYN_CHECK(checkOperands(c, &x, &w));
  DYN_CHECK(checkBias(c, x, w.dims[0]));
  DYN_TRY(Shape shape, convShape(c, x, w));
  setTensor(c, shape, x.dtype);
  return {};
}

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

Status convolve(EvalContext& c, const HostTensor& x, const HostTensor& w, const HostTensor* bias) {
  const int64_t group = c.attributes().integer("group", 1), inGroup = w.shape()[1];
  if (x.shape()[1] != inGroup * group || w.shape()[0] % group != 0)
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(x.shape()) + " and weights " + shapeText(w.shape()));
  DYN_TRY(Window window, windowOf(c.op(), x.rank() - 2));
  const std::span<const int64_t> kernel = std::span(w.shape()).subspan(2);
  DYN_TRY(std::vector<ConcreteAxis> axes, concreteWindow(c, window, x.shape(), kernel));
  std::vector<int64_t> space, shape{x.shape()[0], w.shape()[0]};
  for (const ConcreteAxis& a : axes) space.push_back(a.output);
  shape.insert(shape.end(), space.begin(), space.end());
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const int64_t perSpace = sizeProduct(space, 0, static_cast<int>(space.size()));
  const int64_t inputSpace = sizeProduct(x.shape(), 2, x.rank()), taps = sizeProduct(w.shape(), 2, w.rank());
  const int64_t outGroup = w.shape()[0] / group;
  ProductSum sum(x, w);
  int64_t flat = 0;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t channel = 0; channel < shape[1]; ++channel) {
      OffsetWalk output(space, {});
      for (int64_t o = 0; o < perSpace; ++o, output.next()) {
        OffsetWalk tap(std::vector<int64_t>(kernel.begin(), kernel.end()), {});
        for (int64_t k = 0; k < taps; ++k, tap.next()) {
          int64_t at = 0;
          bool inside = true;
          for (size_t i = 0; i < axes.size(); ++i) {
            const int64_t place = axes[i].at(output.index()[i], tap.index()[i]);
            inside = inside && place >= 0 && place < axes[i].input;
            at = at * axes[i].input + place;
          }
          for (int64_t in = 0; inside && in < inGroup; ++in) {
            const int64_t from = channel / outGroup * inGroup + in;
            sum.add((n * x.shape()[1] + from) * inputSpace + at, (channel * inGroup + in) * taps + k);
          }
        }
        sum.store(&result, flat++, bias, channel);
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status evaluateConv(EvalContext& c) {
  return convolve(c, c.operand(0), c.operand(1), c.hasOperand(2) ? &c.operand(2) : nullptr);
}

// The product of two elements in the accumulation type, 0 outside of the input; the bias is added after the sum.
Result<Expr> addBias(LowerContext& c, Expr sum, Expr channel) {
  const Dtype dtype = c.resultType(0).dtype();
  if (c.hasOperand(2)) {
    const Expr at[] = {channel};
    DYN_TRY(Expr bias, c.read(2, at));
    sum = sum + castTo(bias, sum.dtype());
  }
  return castTo(sum, dtype);
}

// An element of x or w, the output channel being given, as the number that is multiplied.
using ConvElement = std::function<Result<Expr>(Expr element)>;

Result<Expr> convSum(LowerContext& c, std::span<const Expr> index, Dtype computed, const ConvElement& left,
                     const ConvElement& right) {
  const Shape &x = c.operandType(0).dims(), &w = c.operandType(1).dims();
  const int64_t group = c.attributes().integer("group", 1);
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(x.size()) - 2));
  const std::vector<WindowAxis> axes = windowAxes(window, x, Shape(w.begin() + 2, w.end()));
  const Dim outGroup = floorDiv(w[0], w[0].context().constant(group));
  const Expr firstChannel = group == 1 ? c.integer(0) : floorDiv(index[1], c.dim(outGroup)) * c.dim(w[1]);
  const Shape extents(w.begin() + 1, w.end());
  return reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
    WindowPlace place = windowPlace(c, axes, index.subspan(2), k.subspan(1));
    std::vector<Expr> xAt{index[0], firstChannel + k[0]}, wAt{index[1]};
    xAt.insert(xAt.end(), place.at.begin(), place.at.end());
    wAt.insert(wAt.end(), k.begin(), k.end());
    DYN_TRY(Expr a, c.read(0, xAt));
    DYN_TRY(Expr b, c.read(1, wAt));
    DYN_TRY(Expr aNumber, left(a));
    DYN_TRY(Expr bNumber, right(b));
    return guarded(place.inside, aNumber, c.number(0, computed)) * bNumber;
  });
}

Result<Expr> lowerConv(LowerContext& c, int, std::span<const Expr> index) {
  const Dtype computed = accumulationDtype(c.resultType(0).dtype());
  const ConvElement number = [&](Expr element) -> Result<Expr> { return castTo(element, computed); };
  DYN_TRY(Expr sum, convSum(c, index, computed, number, number));
  return addBias(c, sum, index[1]);
}

Status convArguments(const Op& op, std::span<const Type> operandTypes, std::vector<int32_t>* numbers,
                     std::vector<Dim>* scalars) {
  const Shape &x = operandTypes[0].dims(), &w = operandTypes[1].dims();
  const int64_t group = op.attributes.integer("group", 1);
  if (group > INT32_MAX) return makeError(DiagnosticId::badAttribute, "group is too large", op.place);
  const int spatialRank = static_cast<int>(x.size()) - 2;
  DYN_TRY(Window window, windowOf(op, spatialRank));
  numbers->push_back(spatialRank);
  numbers->push_back(static_cast<int32_t>(group));
  for (int64_t stride : window.strides) numbers->push_back(static_cast<int32_t>(stride));
  for (int64_t dilation : window.dilations) numbers->push_back(static_cast<int32_t>(dilation));
  for (const WindowAxis& a : windowAxes(window, x, Shape(w.begin() + 2, w.end())))
    scalars->push_back(a.padBegin);
  return {};
}

bool builtinConvTakes(const Op&, std::span<const Type> operandTypes) {
  // The builtin's numbers are 4 to 9: at most 3 spatial axes.
  const Dtype dtype = operandTypes[0].dtype();
  return (dtype == Dtype::f32 || dtype == Dtype::f64) && operandTypes[0].rank() <= 5;
}

// --- conv_integer

// One zero point for all of x; of w one, or one for each output channel.
Status inferConvInteger(InferContext& c) {
  TensorOperand x, w;
  DYN_CHECK(checkShapes(c, &x, &w));
  DYN_CHECK(requireByte(c, x, "the input"));
  DYN_CHECK(requireByte(c, w, "the weights"));
  for (int i = 2; i <= 3; ++i) {
    if (!c.hasOperand(i)) continue;
    DYN_TRY(TensorOperand zero, tensorOperand(c, i));
    DYN_CHECK(requireSameDtype(c, i == 2 ? x : w, zero));
    if (zero.rank() == 0 || (zero.rank() == 1 && zero.dims[0].isConstant(1))) continue;
    if (i == 2 || zero.rank() > 1)
      return c.error(DiagnosticId::shapeMismatch, "zero points of " + zero.type.toString());
    DYN_CHECK(c.requireEqual(zero.dims[0], w.dims[0], "zero points, one per output channel"));
  }
  DYN_TRY(Shape shape, convShape(c, x, w));
  setTensor(c, shape, Dtype::i32);
  return {};
}

// In i32, less the zero points: one for each of `inner` elements that follow one another.
Result<HostTensor> withoutZeros(const EvalContext& c, int operand, int zeros, int64_t inner) {
  const HostTensor& x = c.operand(operand);
  DYN_TRY(HostTensor result, newTensor(Dtype::i32, x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    int64_t zero = 0;
    if (c.hasOperand(zeros))
      zero = c.operand(zeros).intAt(c.operand(zeros).elementCount() == 1 ? 0 : i / inner);
    result.setInt(i, x.intAt(i) - zero);
  }
  return result;
}

Status evaluateConvInteger(EvalContext& c) {
  const std::vector<int64_t>& filters = c.operand(1).shape();
  if (c.hasOperand(3) && c.operand(3).elementCount() != 1 && c.operand(3).elementCount() != filters[0])
    return c.error(DiagnosticId::shapeMismatch, "zero points of " + shapeText(c.operand(3).shape()));
  DYN_TRY(HostTensor x, withoutZeros(c, 0, 2, 1));
  DYN_TRY(HostTensor w, withoutZeros(c, 1, 3, sizeProduct(filters, 1, static_cast<int>(filters.size()))));
  return convolve(c, x, w, nullptr);
}

Result<Expr> lowerConvInteger(LowerContext& c, int, std::span<const Expr> index) {
  const auto without = [&](int zeros) -> ConvElement {
    return [&c, zeros, index](Expr element) -> Result<Expr> {
      const Expr number = castTo(element, Dtype::i32);
      if (!c.hasOperand(zeros)) return number;
      std::vector<Expr> at;
      const Type type = c.operandType(zeros);
      if (type.rank() == 1) at.push_back(type.dims()[0].isConstant(1) ? c.integer(0) : index[1]);
      DYN_TRY(Expr zero, c.read(zeros, at));
      return number - castTo(zero, Dtype::i32);
    };
  };
  return convSum(c, index, Dtype::i32, without(2), without(3));
}

bool builtinConvIntegerTakes(const Op&, std::span<const Type> operandTypes) {
  return operandTypes[0].rank() <= 5;
}

// --- conv_transpose

constexpr AttributeSpec kTransposeAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1"},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1"},
    {"pads", AttributeKind::integers, false, "[begin..., end...], cut from the result; default 0"},
    {"auto_pad", AttributeKind::string, false,
     "NOTSET (pads), VALID, SAME_UPPER or SAME_LOWER; default NOTSET"},
    {"group", AttributeKind::integer, false, "groups of channels; default 1"},
    {"output_padding", AttributeKind::integers, false, "added to each output size; default 0"},
    {"output_shape", AttributeKind::integers, false, "output sizes; pads follow from them"},
    {"kernel_shape", AttributeKind::integers, false, "demanded of w when given"},
};

// One spatial axis: input i adds to output i * stride - padBegin + k * dilation.
struct TransposedAxis {
  Dim input, kernel, output, padBegin;
  int64_t stride = 1, dilation = 1;
};

Result<std::vector<TransposedAxis>> transposedAxes(const Op& op, const Shape& x, const Shape& w) {
  const int rank = static_cast<int>(x.size()) - 2;
  DYN_TRY(Window window, windowOf(op, rank));
  std::vector<int64_t> extra = op.attributes.integers("output_padding"),
                       sizes = op.attributes.integers("output_shape");
  extra.resize(static_cast<size_t>(rank), 0);
  if (!sizes.empty() && static_cast<int>(sizes.size()) != rank)
    return makeError(DiagnosticId::badAttribute, "output_shape has one size per spatial axis", op.place);
  std::vector<TransposedAxis> axes;
  for (size_t k = 0; k < static_cast<size_t>(rank); ++k) {
    TransposedAxis a;
    a.input = x[k + 2];
    a.kernel = w[k + 2];
    a.stride = window.strides[k];
    a.dilation = window.dilations[k];
    DimContext& dims = a.input.context();
    const Dim full = (a.input - 1) * a.stride + extra[k] + (a.kernel - 1) * a.dilation + 1;
    if (sizes.empty() && !window.isSame()) {
      a.output = full - window.padsBegin[k] - window.padsEnd[k];
      a.padBegin = dims.constant(window.padsBegin[k]);
    } else {
      a.output = sizes.empty() ? a.input * a.stride : dims.constant(sizes[k]);
      const Dim total = max(full - a.output, dims.constant(0)), half = floorDiv(total, dims.constant(2));
      a.padBegin = window.autoPad == AutoPad::sameUpper ? half : total - half;
    }
    axes.push_back(a);
  }
  return axes;
}

Status inferConvTranspose(InferContext& c) {
  TensorOperand x, w;
  DYN_CHECK(checkOperands(c, &x, &w));
  const int64_t group = c.attributes().integer("group", 1);
  DYN_CHECK(c.requireEqual(x.dims[1], w.dims[0], "input channels of the convolution"));
  if (group > 1)
    DYN_CHECK(c.requireEqual(mod(w.dims[0], constantDim(c, group)), constantDim(c, 0),
                             "input channels are a multiple of group"));
  DYN_CHECK(checkBias(c, x, w.dims[1] * group));
  DYN_TRY(std::vector<TransposedAxis> axes, transposedAxes(c.op(), x.dims, w.dims));
  Shape shape{x.dims[0], w.dims[1] * group};
  for (const TransposedAxis& a : axes) {
    DYN_CHECK(c.requireLessEqual(constantDim(c, 0), a.output, "the output is not cut below nothing"));
    shape.push_back(a.output);
  }
  setTensor(c, shape, x.dtype);
  return {};
}

Status evaluateConvTranspose(EvalContext& c) {
  const HostTensor &x = c.operand(0), &w = c.operand(1);
  const HostTensor* bias = c.hasOperand(2) ? &c.operand(2) : nullptr;
  const int64_t group = c.attributes().integer("group", 1), outGroup = w.shape()[1];
  if (x.shape()[1] != w.shape()[0] || w.shape()[0] % group != 0)
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(x.shape()) + " and weights " + shapeText(w.shape()));
  DimContext dims;
  Shape xDims, wDims;
  for (int64_t size : x.shape()) xDims.push_back(dims.constant(size));
  for (int64_t size : w.shape()) wDims.push_back(dims.constant(size));
  DYN_TRY(std::vector<TransposedAxis> axes, transposedAxes(c.op(), xDims, wDims));
  std::vector<int64_t> space, pads, shape{x.shape()[0], outGroup * group};
  for (const TransposedAxis& a : axes) {
    if (!a.output.isConstant() || !a.padBegin.isConstant() || *a.output.constant() < 0)
      return c.error(DiagnosticId::shapeCheckFailed, "the output is not cut below nothing");
    space.push_back(*a.output.constant());
    pads.push_back(*a.padBegin.constant());
  }
  shape.insert(shape.end(), space.begin(), space.end());
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  const int64_t perSpace = sizeProduct(space, 0, static_cast<int>(space.size()));
  const int64_t inputSpace = sizeProduct(x.shape(), 2, x.rank()), taps = sizeProduct(w.shape(), 2, w.rank());
  const int64_t inGroup = w.shape()[0] / group;
  ProductSum sum(x, w);
  int64_t flat = 0;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t channel = 0; channel < shape[1]; ++channel) {
      OffsetWalk output(space, {});
      for (int64_t o = 0; o < perSpace; ++o, output.next()) {
        OffsetWalk tap(kernel, {});
        for (int64_t k = 0; k < taps; ++k, tap.next()) {
          int64_t at = 0;
          bool inside = true;
          for (size_t i = 0; i < axes.size(); ++i) {
            const int64_t scaled = output.index()[i] + pads[i] - tap.index()[i] * axes[i].dilation;
            const int64_t size = x.shape()[i + 2];
            inside = inside && scaled >= 0 && scaled % axes[i].stride == 0 && scaled / axes[i].stride < size;
            at = at * size + scaled / axes[i].stride;
          }
          for (int64_t in = 0; inside && in < inGroup; ++in) {
            const int64_t from = channel / outGroup * inGroup + in;
            sum.add((n * x.shape()[1] + from) * inputSpace + at,
                    (from * outGroup + channel % outGroup) * taps + k);
          }
        }
        sum.store(&result, flat++, bias, channel);
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status convTransposeArguments(const Op& op, std::span<const Type> operandTypes, std::vector<int32_t>* numbers,
                              std::vector<Dim>* scalars) {
  const int64_t group = op.attributes.integer("group", 1);
  if (group > INT32_MAX) return makeError(DiagnosticId::badAttribute, "group is too large", op.place);
  DYN_TRY(std::vector<TransposedAxis> axes,
          transposedAxes(op, operandTypes[0].dims(), operandTypes[1].dims()));
  numbers->push_back(static_cast<int32_t>(axes.size()));
  numbers->push_back(static_cast<int32_t>(group));
  for (const TransposedAxis& a : axes) numbers->push_back(static_cast<int32_t>(a.stride));
  for (const TransposedAxis& a : axes) numbers->push_back(static_cast<int32_t>(a.dilation));
  for (const TransposedAxis& a : axes) scalars->push_back(a.padBegin);
  return {};
}

bool builtinConvTransposeTakes(const Op&, std::span<const Type> operandTypes) {
  return operandTypes[0].dtype() == Dtype::f32 && operandTypes[0].rank() <= 5;
}

// Pulled: output o gets input (o + padBegin - k * dilation) / stride for each k where that is a whole place of the input.
Result<Expr> lowerConvTranspose(LowerContext& c, int, std::span<const Expr> index) {
  const Shape &x = c.operandType(0).dims(), &w = c.operandType(1).dims();
  const int64_t group = c.attributes().integer("group", 1);
  const Dtype computed = accumulationDtype(c.resultType(0).dtype());
  DYN_TRY(std::vector<TransposedAxis> axes, transposedAxes(c.op(), x, w));
  const Dim inGroup = floorDiv(w[0], w[0].context().constant(group));
  const Expr outGroup = c.dim(w[1]);
  const Expr first = group == 1 ? c.integer(0) : floorDiv(index[1], outGroup) * c.dim(inGroup);
  const Expr column = group == 1 ? index[1] : mod(index[1], outGroup);
  Shape extents{inGroup};
  extents.insert(extents.end(), w.begin() + 2, w.end());
  DYN_TRY(Expr sum, reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
            std::vector<Expr> xAt{index[0], first + k[0]}, wAt{first + k[0], column};
            Expr inside;
            for (size_t i = 0; i < axes.size(); ++i) {
              const TransposedAxis& a = axes[i];
              const Expr scaled = index[i + 2] + c.dim(a.padBegin) - k[i + 1] * a.dilation;
              const Expr stride = c.integer(a.stride), at = floorDiv(scaled, stride);
              inside = bothHold(inside, scaled >= c.integer(0) && at < c.dim(a.input));
              if (a.stride > 1) inside = bothHold(inside, mod(scaled, stride) == c.integer(0));
              xAt.push_back(at);
              wAt.push_back(k[i + 1]);
            }
            DYN_TRY(Expr a, c.read(0, xAt));
            DYN_TRY(Expr b, c.read(1, wAt));
            return guarded(inside, castTo(a, computed), c.number(0, computed)) * castTo(b, computed);
          }));
  return addBias(c, sum, index[1]);
}

}  // namespace

namespace ops {

const OpDef convOp{
    .name = "conv",
    .summary = "convolution (correlation) over any number of spatial axes",
    .cls = OpClass::contraction,
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kConvAttributes,
    .infer = inferConv,
    .evaluate = evaluateConv,
    .lowering = LoweringKind::builtin,
    .lower = lowerConv,
    .builtin = "conv",
    .builtinArguments = convArguments,
    .builtinTakes = builtinConvTakes,
    .doc =
        "x [n, c, s...], w [m, c/group, k...], bias [m] -> [n, m, o...], o = floordiv(s + pads - "
        "(k-1)*dilation - 1, stride) + 1. "
        "Builtin: (x, w, bias), numbers spatial rank, group, strides..., dilations..., scalars begin pads...",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32], %w: Tensor[(4, 3, 3, 3), f32]) "
        "{ %y = conv(%x, %w) {pads = [1, 1, 1, 1], strides = [2, 2]} return %y }",
};

const OpDef conv_transposeOp{
    .name = "conv_transpose",
    .summary = "transposed convolution over any number of spatial axes",
    .cls = OpClass::contraction,
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kTransposeAttributes,
    .infer = inferConvTranspose,
    .evaluate = evaluateConvTranspose,
    .lowering = LoweringKind::builtin,
    .lower = lowerConvTranspose,
    .builtin = "conv_transpose",
    .builtinArguments = convTransposeArguments,
    .builtinTakes = builtinConvTransposeTakes,
    .doc =
        "x [n, c, s...], w [c, m/group, k...], bias [m] -> [n, m, o...], o = (s-1)*stride + output_padding + "
        "(k-1)*dilation + 1 - pads. Builtin: (x, w, bias), numbers spatial rank, group, strides..., "
        "dilations..., "
        "scalars begin pads...",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32], %w: Tensor[(3, 4, 3, 3), f32]) "
        "{ %y = conv_transpose(%x, %w) {strides = [2, 2]} return %y }",
};

const OpDef conv_integerOp{
    .name = "conv_integer",
    .summary = "convolution of 8-bit integers less their zero points, in i32",
    .cls = OpClass::contraction,
    .minOperands = 2,
    .maxOperands = 4,
    .attributes = kConvAttributes,
    .infer = inferConvInteger,
    .evaluate = evaluateConvInteger,
    .lowering = LoweringKind::builtin,
    .lower = lowerConvInteger,
    .builtin = "byteconv",
    .builtinArguments = convArguments,
    .builtinTakes = builtinConvIntegerTakes,
    .doc =
        "x [n, c, s...], w [m, c/group, k...] of i8 or u8, x_zero [], w_zero [] or [m] -> [n, m, o...] i32, "
        "as conv; "
        "outside of x there is its zero point. Builtin: (x, w, x_zero, w_zero), numbers and scalars as for "
        "conv.",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), u8], %w: Tensor[(4, 3, 3, 3), i8], %z: Tensor[(), u8]) "
        "{ %y = conv_integer(%x, %w, %z) {pads = [1, 1, 1, 1], strides = [2, 2]} return %y }",
};

}  // namespace ops
}  // namespace dyn
