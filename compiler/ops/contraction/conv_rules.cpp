#include "compiler/ops/contraction/conv_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

Status checkConvShapes(InferContext& c, TensorOperand* x, TensorOperand* w) {
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

Result<Shape> convShape(InferContext& c, const TensorOperand& x, const Shape& w) {
  const int64_t group = c.attributes().integer("group", 1);
  DYN_CHECK(c.requireEqual(x.dims[1], w[1] * group, "input channels of the convolution"));
  if (group > 1)
    DYN_CHECK(c.requireEqual(mod(w[0], constantDim(c, group)), constantDim(c, 0),
                             "output channels are a multiple of group"));
  DYN_TRY(Window window, windowOf(c.op(), x.rank() - 2));
  const std::vector<WindowAxis> axes = windowAxes(window, x.dims, Shape(w.begin() + 2, w.end()));
  DYN_CHECK(requireWindowFits(c, window, axes));
  Shape shape{x.dims[0], w[0]};
  for (const WindowAxis& a : axes) shape.push_back(a.output);
  return shape;
}

Result<HostTensor> convolved(const EvalContext& c, const HostTensor& x, const HostTensor& w,
                             const HostTensor* bias) {
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
  return result;
}

Status convolve(EvalContext& c, const HostTensor& x, const HostTensor& w, const HostTensor* bias) {
  DYN_TRY(HostTensor result, convolved(c, x, w, bias));
  c.setResult(0, std::move(result));
  return {};
}

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

Status beginPads(const Op& op, const Shape& x, const Shape& w, std::vector<Dim>* pads) {
  DYN_TRY(Window window, windowOf(op, static_cast<int>(x.size()) - 2));
  for (const WindowAxis& a : windowAxes(window, x, Shape(w.begin() + 2, w.end())))
    pads->push_back(a.padBegin);
  return {};
}

}  // namespace dyn
