// Convolutions whose windows are taken apart: col2im adds windows up to an image, deform_conv moves each element of a window.
#include <algorithm>
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

constexpr int kImage = 1, kBlock = 2;

constexpr AttributeSpec kCol2imAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"pads", AttributeKind::integers, false, "[begin..., end...], cut from the image; default 0",
     Allowed::byRule("begin of each spatial axis, then end of each")},
};

// --- col2im

Status inferCol2im(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0, 3));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  DYN_TRY(Contents image, vectorContents(c, kImage, "the image's sizes"));
  DYN_TRY(Contents block, vectorContents(c, kBlock, "the window's sizes"));
  if (image.empty() || image.size() != block.size())
    return c.error(DiagnosticId::shapeMismatch,
                   "image and window have the same number of axes, at least one");
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(image.size())));
  Dim perChannel = constantDim(c, 1), windows = constantDim(c, 1);
  Shape shape{x.dims[0], Dim()};
  for (size_t k = 0; k < image.size(); ++k) {
    const int64_t at = static_cast<int64_t>(k);
    DYN_TRY(Dim size, sizeDim(c, kImage, at, "size " + std::to_string(k) + " of the image"));
    DYN_TRY(Dim kernel, sizeDim(c, kBlock, at, "size " + std::to_string(k) + " of the window"));
    DYN_CHECK(c.requireLessEqual(constantDim(c, 1), kernel, "a window has elements"));
    windows = windows * windowAxis(window, static_cast<int>(k), size, kernel).output;
    perChannel = perChannel * kernel;
    shape.push_back(size);
  }
  DYN_CHECK(c.requireEqual(mod(x.dims[1], perChannel), constantDim(c, 0),
                           "rows are a multiple of the window's size"));
  DYN_CHECK(c.requireEqual(x.dims[2], windows, "columns are the places of the window"));
  shape[1] = floorDiv(x.dims[1], perChannel);
  setTensor(c, shape, x.dtype);
  return {};
}

Status evaluateCol2im(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t> image = elementsOf(c.operand(kImage)), block = elementsOf(c.operand(kBlock));
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(image.size())));
  std::vector<int64_t> asInput{1, 1};
  asInput.insert(asInput.end(), image.begin(), image.end());
  DYN_TRY(std::vector<ConcreteAxis> axes, concreteWindow(c, window, asInput, block));
  std::vector<int64_t> places;
  for (const ConcreteAxis& a : axes) places.push_back(a.output);
  const int rank = static_cast<int>(image.size());
  const int64_t taps = sizeProduct(block, 0, rank), windows = sizeProduct(places, 0, rank),
                space = sizeProduct(image, 0, rank);
  if (taps < 1 || x.shape()[1] % taps != 0 || x.shape()[2] != windows)
    return c.error(DiagnosticId::shapeMismatch, shapeText(x.shape()) + " are no columns of these windows");
  const int64_t channels = x.shape()[1] / taps;
  std::vector<int64_t> shape{x.shape()[0], channels};
  shape.insert(shape.end(), image.begin(), image.end());
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  for (int64_t outer = 0; outer < shape[0] * channels; ++outer) {
    std::vector<double> sums(static_cast<size_t>(space), 0);
    OffsetWalk tap(block, {});
    for (int64_t k = 0; k < taps; ++k, tap.next()) {
      OffsetWalk place(places, {});
      for (int64_t o = 0; o < windows; ++o, place.next()) {
        int64_t at = 0;
        bool inside = true;
        for (size_t i = 0; i < axes.size(); ++i) {
          const int64_t here = axes[i].at(place.index()[i], tap.index()[i]);
          inside = inside && here >= 0 && here < image[i];
          at = at * image[i] + here;
        }
        if (inside) sums[static_cast<size_t>(at)] += x.realAt((outer * taps + k) * windows + o);
      }
    }
    for (int64_t i = 0; i < space; ++i) {
      const double sum = sums[static_cast<size_t>(i)];
      if (isReal(x.dtype())) {
        result.setReal(outer * space + i, sum);
      } else {
        result.setInt(outer * space + i, static_cast<int64_t>(sum));
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status col2imArguments(const Op& op, std::span<const Type> types, std::vector<int32_t>* numbers,
                       std::vector<Dim>*) {
  const Dtype dtype = types[0].dtype();
  if (dtype != Dtype::f32 && dtype != Dtype::f64 && !isInteger(dtype))
    return makeError(DiagnosticId::unsupportedDtype,
                     "unsupported: col2im of " + std::string(toString(dtype)) + " is not compiled", op.place);
  const int rank = op.results[0].type.rank() - 2;
  DYN_TRY(Window window, windowOf(op, rank));
  for (const auto* list : {&window.strides, &window.dilations, &window.padsBegin, &window.padsEnd})
    for (int64_t value : *list) numbers->push_back(static_cast<int32_t>(value));
  return {};
}

// --- deform_conv

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

constexpr int kWeights = 1, kOffset = 2, kBias = 3, kMask = 4;

Status inferDeformConv(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand w, tensorOperand(c, kWeights, x.rank()));
  DYN_TRY(TensorOperand offset, tensorOperand(c, kOffset, x.rank()));
  if (x.rank() < 3) return c.error(DiagnosticId::rankMismatch, "the operand is [n, c, spatial...]");
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  DYN_CHECK(requireSameDtype(c, x, w));
  DYN_CHECK(requireSameDtype(c, x, offset));
  const int spatial = x.rank() - 2;
  const int64_t group = c.attributes().integer("group", 1),
                offsets = c.attributes().integer("offset_group", 1);
  if (group < 1 || offsets < 1)
    return c.error(DiagnosticId::badAttribute, "group and offset_group are positive");
  DYN_TRY(Window window, windowOf(c.op(), spatial));
  if (c.attributes().has("kernel_shape")) {
    DYN_TRY(std::vector<int64_t> demanded, kernelShape(c.op(), spatial));
    for (size_t k = 0; k < demanded.size(); ++k)
      DYN_CHECK(c.requireEqual(w.dims[k + 2], constantDim(c, demanded[k]), "kernel_shape"));
  }
  DYN_CHECK(c.requireEqual(x.dims[1], w.dims[1] * group, "input channels of the convolution"));
  DYN_CHECK(c.requireEqual(mod(w.dims[0], constantDim(c, group)), constantDim(c, 0),
                           "group divides the output channels"));
  DYN_CHECK(c.requireEqual(mod(x.dims[1], constantDim(c, offsets)), constantDim(c, 0),
                           "offset_group divides the input channels"));
  const Shape kernel(w.dims.begin() + 2, w.dims.end());
  const std::vector<WindowAxis> axes = windowAxes(window, x.dims, kernel);
  DYN_CHECK(requireWindowFits(c, window, axes));
  Dim taps = constantDim(c, offsets);
  for (Dim size : kernel) taps = taps * size;
  DYN_CHECK(c.requireEqual(offset.dims[0], x.dims[0], "batches of operand and offsets"));
  DYN_CHECK(c.requireEqual(offset.dims[1], taps * spatial, "offsets for each element of the window"));
  Shape shape{x.dims[0], w.dims[0]};
  for (size_t k = 0; k < axes.size(); ++k) {
    DYN_CHECK(c.requireEqual(offset.dims[k + 2], axes[k].output, "offsets for each place of the window"));
    shape.push_back(axes[k].output);
  }
  if (c.hasOperand(kBias)) {
    DYN_TRY(TensorOperand bias, tensorOperand(c, kBias, 1));
    DYN_CHECK(c.requireEqual(bias.dims[0], w.dims[0], "one bias for each output channel"));
  }
  if (c.hasOperand(kMask)) {
    DYN_TRY(TensorOperand mask, tensorOperand(c, kMask, x.rank()));
    DYN_CHECK(requireSameDtype(c, x, mask));
    DYN_CHECK(c.requireEqual(mask.dims[0], x.dims[0], "batches of operand and mask"));
    DYN_CHECK(c.requireEqual(mask.dims[1], taps, "a factor for each element of the window"));
    for (size_t k = 0; k < axes.size(); ++k)
      DYN_CHECK(c.requireEqual(mask.dims[k + 2], axes[k].output, "factors for each place of the window"));
  }
  setTensor(c, shape, x.dtype);
  return {};
}

// Linear between the two neighbours; what lies outside counts as 0.
std::vector<Tap> linearTaps(double x, int64_t size) {
  const double base = std::floor(x), part = x - base;
  const auto tap = [&](double at, double weight) {
    const bool inside = at >= 0 && at < static_cast<double>(size);
    return Tap{inside ? static_cast<int64_t>(at) : 0, weight, !inside};
  };
  return {tap(base, 1 - part), tap(base + 1, part)};
}

Status evaluateDeformConv(EvalContext& c) {
  const HostTensor &x = c.operand(0), &w = c.operand(kWeights), &offset = c.operand(kOffset);
  const size_t spatial = x.shape().size() - 2;
  const int64_t group = c.attributes().integer("group", 1),
                offsets = c.attributes().integer("offset_group", 1);
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(spatial)));
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  DYN_TRY(std::vector<ConcreteAxis> axes, concreteWindow(c, window, x.shape(), kernel));
  const int64_t taps = sizeProduct(kernel, 0, static_cast<int>(spatial)), inGroup = w.shape()[1];
  std::vector<int64_t> shape{x.shape()[0], w.shape()[0]};
  for (const ConcreteAxis& a : axes) shape.push_back(a.output);
  const int64_t places = sizeProduct(shape, 2, static_cast<int>(shape.size()));
  if (x.shape()[1] != inGroup * group || w.shape()[0] % group != 0 || x.shape()[1] % offsets != 0 ||
      offset.shape()[1] != offsets * taps * static_cast<int64_t>(spatial) ||
      sizeProduct(offset.shape(), 2, offset.rank()) != places)
    return c.error(DiagnosticId::shapeMismatch, "operand, weights and offsets do not go together");
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  OffsetWalk walk(shape, {});
  for (int64_t flat = 0; flat < result.elementCount(); ++flat, walk.next()) {
    const int64_t n = walk.index()[0], m = walk.index()[1], place = flat % places;
    double sum = c.hasOperand(kBias) ? c.operand(kBias).realAt(m) : 0;
    for (int64_t in = 0; in < inGroup; ++in) {
      const int64_t channel = m / (shape[1] / group) * inGroup + in;
      const int64_t offsetGroup = channel / (x.shape()[1] / offsets);
      OffsetWalk tap(kernel, {});
      for (int64_t k = 0; k < taps; ++k, tap.next()) {
        std::vector<std::vector<Tap>> along{{{n}}, {{channel}}};
        const int64_t row = (n * offsets + offsetGroup) * taps + k;
        for (size_t i = 0; i < spatial; ++i) {
          const int64_t at = (row * static_cast<int64_t>(spatial) + static_cast<int64_t>(i)) * places + place;
          const int64_t regular = axes[i].at(walk.index()[i + 2], tap.index()[i]);
          along.push_back(linearTaps(static_cast<double>(regular) + offset.realAt(at), axes[i].input));
        }
        double value = 0;
        for (const Tap& one : combined(along, strides))
          value += one.outside ? 0 : one.weight * x.realAt(one.at);
        if (c.hasOperand(kMask)) value *= c.operand(kMask).realAt(row * places + place);
        sum += value * w.realAt((m * inGroup + in) * taps + k);
      }
    }
    result.setReal(flat, sum);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerDeformConv(LowerContext& c, int, std::span<const Expr> index) {
  const Shape &x = c.operandType(0).dims(), &w = c.operandType(kWeights).dims();
  const Dtype dtype = c.resultType(0).dtype(), computed = accumulationDtype(dtype);
  const int64_t group = c.attributes().integer("group", 1),
                offsets = c.attributes().integer("offset_group", 1);
  const size_t spatial = x.size() - 2;
  DYN_TRY(Window window, windowOf(c.op(), static_cast<int>(spatial)));
  const std::vector<WindowAxis> axes = windowAxes(window, x, Shape(w.begin() + 2, w.end()));
  const auto divided = [](Dim d, int64_t by) { return floorDiv(d, d.context().constant(by)); };
  const Expr firstChannel =
      group == 1 ? c.integer(0) : floorDiv(index[1], c.dim(divided(w[0], group))) * c.dim(w[1]);
  Expr taps = c.integer(1);
  for (size_t i = 0; i < spatial; ++i) taps = taps * c.dim(w[i + 2]);
  const Shape extents(w.begin() + 1, w.end());
  DYN_TRY(
      Expr sum, reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
        const Expr channel = firstChannel + k[0];
        Expr row = offsets == 1 ? c.integer(0) : floorDiv(channel, c.dim(divided(x[1], offsets)));
        for (size_t i = 0; i < spatial; ++i) row = row * c.dim(w[i + 2]) + k[i + 1];
        std::vector<std::vector<LoweredTap>> along{{{index[0], Expr(), Expr()}}, {{channel, Expr(), Expr()}}};
        std::vector<Expr> at(index.begin(), index.end()), wAt{index[1]};
        for (size_t i = 0; i < spatial; ++i) {
          const WindowAxis& a = axes[i];
          at[1] = row * static_cast<int64_t>(spatial) + static_cast<int64_t>(i);
          DYN_TRY(Expr moved, c.read(kOffset, at));
          const Expr regular = index[i + 2] * a.stride + k[i + 1] * a.dilation - c.dim(a.padBegin);
          const Expr place = castTo(regular, computed) + castTo(moved, computed);
          const Expr base = unary(UnaryOp::floor, place), part = place - base;
          std::vector<LoweredTap> pair;
          for (int64_t side = 0; side < 2; ++side) {
            LoweredTap tap;
            tap.at = castTo(base, Dtype::i64) + side;
            tap.weight = castTo(side == 0 ? c.number(1, computed) - part : part, Dtype::f64);
            tap.inside = tap.at >= c.integer(0) && tap.at < c.dim(a.input);
            pair.push_back(tap);
          }
          along.push_back(std::move(pair));
        }
        DYN_TRY(Expr value, weightedSum(c, 0, along, computed));
        if (c.hasOperand(kMask)) {
          at[1] = row;
          DYN_TRY(Expr factor, c.read(kMask, at));
          value = value * castTo(factor, computed);
        }
        wAt.insert(wAt.end(), k.begin(), k.end());
        DYN_TRY(Expr weight, c.read(kWeights, wAt));
        return value * castTo(weight, computed);
      }));
  if (c.hasOperand(kBias)) {
    const Expr at[] = {index[1]};
    DYN_TRY(Expr bias, c.read(kBias, at));
    sum = sum + castTo(bias, computed);
  }
  return castTo(sum, dtype);
}

constexpr OperandRule kCol2imRules[] = {{1, ElementsAre::byRule, "sizes that the columns make up"},
                                        {2, ElementsAre::byRule, "at least 1, and divides the channels"}};

}  // namespace

namespace ops {

const OpDef col2imOp{
    .name = "col2im",
    .summary = "an image as the sum of its windows, each a column",
    .cls = OpClass::opaque,
    .minOperands = 3,
    .maxOperands = 3,
    .attributes = kCol2imAttributes,
    .infer = inferCol2im,
    .evaluate = evaluateCol2im,
    .lowering = LoweringKind::builtin,
    .builtin = "col2im",
    .builtinArguments = col2imArguments,
    .operandRules = kCol2imRules,
    .doc =
        "x [n, c * product of k, places], image [r] i64, window k [r] i64 -> [n, c, image...]; places are "
        "those of a "
        "convolution of the image with the window",
    .example =
        "fn @main(%x: Tensor[(n, 8, 9), f32]) { %i = constant() {value = i64[2] [4, 4]} "
        "%k = constant() {value = i64[2] [2, 2]} %y = col2im(%x, %i, %k) return %y }",
};

const OpDef deform_convOp{
    .name = "deform_conv",
    .summary = "convolution whose windows' elements are each moved by an offset",
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
        "mask "
        "[n, offset_group * product of k, o...] -> [n, m, o...], o as of conv; between elements x is linear, "
        "outside 0",
    .example =
        "fn @main(%x: Tensor[(n, 1, 4, 4), f32], %w: Tensor[(2, 1, 2, 2), f32], %o: Tensor[(n, 8, 3, 3), "
        "f32]) "
        "{ %y = deform_conv(%x, %w, %o) return %y }",
};

}  // namespace ops
}  // namespace dyn
