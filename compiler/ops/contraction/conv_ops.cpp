// Convolutions over any number of spatial axes.
#include "compiler/ops/contraction/contraction_version.h"
#include "compiler/ops/contraction/conv_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

constexpr AttributeSpec kPlainAttributes[] = {kConvAttributes[0],   kConvAttributes[1], kConvAttributes[2],
                                              kConvAttributes[3],   kConvAttributes[4], kConvAttributes[5],
                                              DYN_PADDING_ATTRIBUTE};
static_assert(std::size(kConvAttributes) == 6);
constexpr AttributeSpec kPackFilterAttributes[] = {
    {"strides", AttributeKind::integers, false, "of the convolution; default 1", Allowed::atLeast(1)},
    {"dilations", AttributeKind::integers, false, "of the convolution; default 1", Allowed::atLeast(1)},
    {"group", AttributeKind::integer, false, "of the convolution; default 1", Allowed::atLeast(1)},
    {"way", AttributeKind::string, false, "of the convolution; default: what its window suggests",
     Allowed::oneOf("rows staged direct winograd onednn")},
};
constexpr AttributeSpec kPackedConvAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"pads", AttributeKind::integers, false, "[begin..., end...]; default 0",
     Allowed::byRule("begin of each spatial axis, then end of each")},
    {"auto_pad", AttributeKind::string, false,
     "NOTSET (pads), VALID, SAME_UPPER or SAME_LOWER; default NOTSET",
     Allowed::oneOf("NOTSET VALID SAME_UPPER SAME_LOWER")},
    DYN_PADDING_ATTRIBUTE,
    {"group", AttributeKind::integer, false, "groups of channels; default 1", Allowed::atLeast(1)},
    {"weights", AttributeKind::dims, true, "the shape of the weights before they were packed",
     Allowed::any()},
    {"way", AttributeKind::string, false,
     "rows, staged, direct, winograd or onednn: how it is computed; default: what its window suggests",
     Allowed::oneOf("rows staged direct winograd onednn")},
    {"layout", AttributeKind::string, false,
     "planes; channels_last: operand and result are [n, spatial..., channels]; to_channels_last: the result "
     "alone; default planes",
     Allowed::oneOf("planes channels_last to_channels_last")},
    DYN_SLICE_ATTRIBUTE,
};

// x and w checked, which have one type of numbers.
Status checkOperands(InferContext& c, TensorOperand* x, TensorOperand* w) {
  DYN_CHECK(checkConvShapes(c, x, w));
  DYN_CHECK(requireClass(c, *x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the input"));
  return requireSameDtype(c, *x, *w);
}

Status checkBias(InferContext& c, const TensorOperand& x, Dim channels) {
  if (!c.hasOperand(2)) return {};
  DYN_TRY(TensorOperand bias, tensorOperand(c, 2, 1));
  DYN_CHECK(requireSameDtype(c, x, bias));
  return c.requireEqual(bias.dims[0], channels, "one bias per output channel");
}

Status inferConv(InferContext& c) {
  TensorOperand x, w;
  DYN_CHECK(checkOperands(c, &x, &w));
  DYN_CHECK(checkBias(c, x, w.dims[0]));
  DYN_TRY(Shape shape, convShape(c, x, w.dims));
  setTensor(c, shape, x.dtype);
  return {};
}

const HostTensor* biasOf(const EvalContext& c) { return c.hasOperand(2) ? &c.operand(2) : nullptr; }

Status evaluateConv(EvalContext& c) { return convolve(c, c.operand(0), c.operand(1), biasOf(c)); }

// The product of two elements in the accumulation type, 0 outside of the input; the bias is added after the
// sum.
Result<Expr> addBias(LowerContext& c, Expr sum, Expr channel) {
  const Dtype dtype = c.resultType(0).dtype();
  if (c.hasOperand(2)) {
    const Expr at[] = {channel};
    DYN_TRY(Expr bias, c.read(2, at));
    sum = sum + castTo(bias, sum.dtype());
  }
  return castTo(sum, dtype);
}

Result<Expr> lowerConv(LowerContext& c, int, std::span<const Expr> index) {
  const Dtype computed = accumulationDtype(c.resultType(0).dtype());
  const ConvElement number = [&](Expr element) -> Result<Expr> { return castTo(element, computed); };
  DYN_TRY(Expr sum, convSum(c, index, computed, number, number));
  return addBias(c, sum, index[1]);
}

Status fillConv(const BuiltinRequest& request, CallFields<calls::Conv>& call) {
  const Shape& x = request.operandTypes[0].dims();
  DYN_CHECK(fillWindow(request.op, static_cast<int>(x.size()) - 2, call.numbers));
  return beginPads(request.op, x, request.operandTypes[1].dims(), &call.scalars.pads);
}

bool builtinConvTakes(const Op&, std::span<const Type> operandTypes) {
  // At most 3 spatial axes.
  const Dtype dtype = operandTypes[0].dtype();
  return (dtype == Dtype::f32 || dtype == Dtype::f64) && operandTypes[0].rank() <= 5;
}

// --- packed

// 1 + the way that the attribute names; 0: none.
Status fillWay(const Op& op, int32_t* number) {
  if (!op.attributes.has("way")) return {};
  const std::string name = op.attributes.string("way");
  const std::optional<contraction::Version> version = contraction::parseConvolutionVersion(name);
  if (!version)
    return makeError(DiagnosticId::badAttribute, "a convolution has no way '" + name + "'", op.place);
  if (const auto* way = std::get_if<contraction::Way>(&*version)) *number = static_cast<int32_t>(*way) + 1;
  return {};
}

bool isOneDnnFilter(const Op& op) {
  return isLibrary(
      contraction::parseConvolutionVersion(op.attributes.string("way")).value_or(contraction::Version()));
}

Status inferPackFilter(InferContext& c) {
  DYN_TRY(TensorOperand w, tensorOperand(c, 0));
  if (!isHalf(w.dtype)) DYN_CHECK(requireDtype(c, w, Dtype::f32, "weights to be packed"));
  if (w.rank() < 3 || w.rank() > 5)
    return c.error(DiagnosticId::rankMismatch,
                   "weights to be packed have 1 to 3 spatial axes, not " + w.type.toString());
  setTensor(c, {c.fresh("how packed weights lie is the machine's affair")}, Dtype::f32);
  return {};
}

// The reference's packing leaves the weights as they are.
Status evaluatePackFilter(EvalContext& c) {
  const HostTensor& w = c.operand(0);
  if (w.dtype() == Dtype::f32) {
    c.setResult(0, w.reshaped({w.elementCount()}));
    return {};
  }
  DYN_TRY(HostTensor wide, newTensor(Dtype::f32, {w.elementCount()}));
  for (int64_t i = 0; i < w.elementCount(); ++i) wide.setReal(i, w.realAt(i));
  c.setResult(0, std::move(wide));
  return {};
}

Status fillPackFilter(const BuiltinRequest& request, CallFields<calls::ConvPack>& call) {
  DYN_CHECK(fillWindow(request.op, request.operandTypes[0].rank() - 2, call.numbers));
  return fillWay(request.op, &call.numbers.way);
}

Status checkLayout(InferContext& c, int rank) {
  if (!makesChannelsLast(c.op())) return {};
  const std::string way = c.attributes().string("way");
  if (rank > 4)
    return c.error(DiagnosticId::badAttribute, "channels come last with one or two spatial axes only");
  if (readsChannelsLast(c.op()) ? way == "rows" || way == "direct" || way == "winograd" : way == "direct")
    return {};
  return c.error(DiagnosticId::badAttribute,
                 "channels come last by the ways rows, direct and winograd, from planes by direct");
}

Status inferConvPacked(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand packed, tensorOperand(c, 1, 1));
  DYN_CHECK(requireDtype(c, x, Dtype::f32, "the input"));
  DYN_CHECK(requireDtype(c, packed, Dtype::f32, "the packed weights"));
  const Shape w = c.attributes().dims("weights");
  if (x.rank() < 3 || x.rank() > 5 || static_cast<int>(w.size()) != x.rank())
    return c.error(DiagnosticId::rankMismatch,
                   "input and weights have 1 to 3 spatial axes, not " + x.type.toString());
  for (Dim d : w)
    if (!d.isConstant())
      return c.error(DiagnosticId::badAttribute, "the weights' sizes are constants, not " + d.toString());
  DYN_CHECK(checkBias(c, x, w[0]));
  DYN_CHECK(checkLayout(c, x.rank()));
  x.dims = asPlanes<Dim>(c.op(), x.dims);
  DYN_TRY(Shape shape, convShape(c, x, w));
  setTensor(c, asLaid<Dim>(c.op(), shape), x.dtype);
  return {};
}

Status evaluateConvPacked(EvalContext& c) {
  std::vector<int64_t> shape;
  for (Dim d : c.attributes().dims("weights")) {
    DYN_TRY(int64_t size, c.dimValue(d));
    shape.push_back(size);
  }
  if (c.operand(1).elementCount() != sizeProduct(shape, 0, static_cast<int>(shape.size())))
    return c.error(DiagnosticId::shapeMismatch, "packed weights of " + shapeText(c.operand(1).shape()) +
                                                    " are not those of " + shapeText(shape));
  DYN_TRY(HostTensor x, asPlanes(c.op(), c.operand(0)));
  DYN_TRY(HostTensor planes, convolved(c, x, c.operand(1).reshaped(shape), biasOf(c)));
  DYN_TRY(HostTensor result, asLaid(c.op(), planes));
  c.setResult(0, std::move(result));
  return {};
}

Status fillConvPacked(const BuiltinRequest& request, CallFields<calls::ConvPacked>& call) {
  const Op& op = request.op;
  const Shape x = asPlanes<Dim>(op, request.operandTypes[0].dims()), w = op.attributes.dims("weights");
  DYN_CHECK(fillWindow(op, static_cast<int>(x.size()) - 2, call.numbers));
  DYN_CHECK(fillWay(op, &call.numbers.way));
  call.numbers.way = LaidNumber{call.numbers.way, layoutOf(op)}.joined();
  for (Dim d : w) {
    if (*d.constant() > INT32_MAX)
      return makeError(DiagnosticId::badAttribute, "the weights are too large to be packed", op.place);
    call.numbers.sizes.push_back(static_cast<int32_t>(*d.constant()));
  }
  return beginPads(op, x, w, &call.scalars.pads);
}

// --- conv_transpose

constexpr AttributeSpec kConvTransposeAttributes[] = {
    {"strides", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},
    {"pads", AttributeKind::integers, false, "[begin..., end...], cut from the result; default 0",
     Allowed::byRule("begin of each spatial axis, then end of each")},
    {"auto_pad", AttributeKind::string, false,
     "NOTSET (pads), VALID, SAME_UPPER or SAME_LOWER; default NOTSET",
     Allowed::oneOf("NOTSET VALID SAME_UPPER SAME_LOWER")},
    {"group", AttributeKind::integer, false, "groups of channels; default 1", Allowed::atLeast(1)},
    {"output_padding", AttributeKind::integers, false, "added to each output size; default 0",
     Allowed::byRule("at least 0, below the stride or the dilation")},
    {"output_shape", AttributeKind::integers, false, "output sizes; pads follow from them",
     Allowed::byRule("one size per spatial axis")},
    {"kernel_shape", AttributeKind::integers, false, "demanded of w when given",
     Allowed::byRule("the window of w")},
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
  if (!extra.empty() && static_cast<int>(extra.size()) != rank)
    return makeError(DiagnosticId::badAttribute, "output_padding has one number per spatial axis", op.place);
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
    if (extra[k] < 0 || extra[k] >= std::max(a.stride, a.dilation))
      return makeError(DiagnosticId::badAttribute,
                       "output_padding " + std::to_string(extra[k]) + " of spatial axis " +
                           std::to_string(k) + " must be at least 0 and below the stride or the dilation",
                       op.place);
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
    DYN_CHECK(c.requireLessEqual(constantDim(c, 0), a.output, "the padding leaves a size of at least 0"));
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
      return c.error(DiagnosticId::shapeCheckFailed, "the padding leaves a size of at least 0");
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

Status fillConvTranspose(const BuiltinRequest& request, CallFields<calls::ConvTranspose>& call) {
  const Op& op = request.op;
  const int64_t group = op.attributes.integer("group", 1);
  if (group > INT32_MAX) return makeError(DiagnosticId::badAttribute, "group is too large", op.place);
  DYN_TRY(std::vector<TransposedAxis> axes,
          transposedAxes(op, request.operandTypes[0].dims(), request.operandTypes[1].dims()));
  call.numbers.axes = static_cast<int32_t>(axes.size());
  call.numbers.group = static_cast<int32_t>(group);
  for (const TransposedAxis& a : axes) {
    call.numbers.strides.push_back(static_cast<int32_t>(a.stride));
    call.numbers.dilations.push_back(static_cast<int32_t>(a.dilation));
    call.scalars.pads.push_back(a.padBegin);
  }
  return {};
}

bool builtinConvTransposeTakes(const Op&, std::span<const Type> operandTypes) {
  return operandTypes[0].dtype() == Dtype::f32 && operandTypes[0].rank() <= 5;
}

// Pulled: output o gets input (o + padBegin - k * dilation) / stride for each k where that is a whole place
// of the input.
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
    .traits = {.keepsRank = true, .flatPositions = true, .epilogue = Dtype::f32},
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kPlainAttributes,
    .infer = inferConv,
    .evaluate = evaluateConv,
    .lowering = LoweringKind::builtin,
    .lower = lowerConv,
    .builtin = calling<calls::Conv, fillConv>,
    .builtinTakes = builtinConvTakes,
    .operandRules = kAnyElements,
    .doc =
        "x [n, c, s...], w [m, c/group, k...], bias [m] -> [n, m, o...], o = floordiv(s + pads - "
        "(k-1)*dilation - 1, stride) + 1.",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32], %w: Tensor[(4, 3, 3, 3), f32]) "
        "{ %y = conv(%x, %w) {pads = [1, 1, 1, 1], strides = [2, 2]} return %y }",
};

const OpDef pack_convOp{
    .name = "pack_conv",
    .summary = "constant weights of a convolution as the running machine reads them",
    .cls = OpClass::opaque,
    .traits = {.packsWeights = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kPackFilterAttributes,
    .infer = inferPackFilter,
    .evaluate = evaluatePackFilter,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::ConvPack, fillPackFilter>,
    .builtinFor = [](const Op& op) -> std::string_view {
      return isOneDnnFilter(op) ? "onednn_conv_pack" : "conv_pack";
    },
    .operandRules = kAnyElements,
    .doc =
        "w [m, c/group, k...] f32, f16 or bf16 -> [?] f32, only good for a conv_packed with the same "
        "attributes on the same machine.",
    .example = "fn @main(%w: Tensor[(4, 3, 3, 3), f32]) { %p = pack_conv(%w) {strides = [2, 2]} return %p }",
};

const OpDef conv_packedOp{
    .name = "conv_packed",
    .summary = "the convolution with weights packed by pack_conv",
    .cls = OpClass::contraction,
    .traits = {.flatPositions = true, .epilogue = Dtype::f32},
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kPackedConvAttributes,
    .infer = inferConvPacked,
    .evaluate = evaluateConvPacked,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::ConvPacked, fillConvPacked>,
    .builtinFor = [](const Op& op) -> std::string_view {
      return isOneDnnFilter(op) ? "onednn_conv" : "conv_packed";
    },
    .operandRules = kAnyElements,
    .doc =
        "x [n, c, s...] f32, packed [?] f32, bias [m] -> [n, m, o...] as conv; with channels last [n, s..., "
        "c] "
        "-> [n, o..., m].",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32], %w: Tensor[(4, 3, 3, 3), f32]) "
        "{ %p = pack_conv(%w) %y = conv_packed(%x, %p) {weights = dims(4, 3, 3, 3)} return %y }",
};

const OpDef conv_transposeOp{
    .name = "conv_transpose",
    .summary = "transposed convolution over any number of spatial axes",
    .cls = OpClass::contraction,
    .traits = {.keepsRank = true},
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kConvTransposeAttributes,
    .infer = inferConvTranspose,
    .evaluate = evaluateConvTranspose,
    .lowering = LoweringKind::builtin,
    .lower = lowerConvTranspose,
    .builtin = calling<calls::ConvTranspose, fillConvTranspose>,
    .builtinTakes = builtinConvTransposeTakes,
    .operandRules = kAnyElements,
    .doc =
        "x [n, c, s...], w [c, m/group, k...], bias [m] -> [n, m, o...], o = (s-1)*stride + "
        "output_padding + (k-1)*dilation + 1 - pads.",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32], %w: Tensor[(3, 4, 3, 3), f32]) "
        "{ %y = conv_transpose(%x, %w) {strides = [2, 2]} return %y }",
};

}  // namespace ops
}  // namespace dyn
