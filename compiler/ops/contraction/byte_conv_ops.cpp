// The convolution of 8-bit integers less their zero points, exact in i32. What quantised models compute with
// (pass `quantise`).
#include <algorithm>

#include "compiler/ops/contraction/conv_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/layout_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// Attribute channels_last: the weights are [m, k..., c/group], as the builtin reads them fastest.
bool channelsLast(const Attributes& attributes) { return attributes.integer("channels_last", 0) != 0; }

// [m, c/group, k...] of either order.
template <typename Size>
std::vector<Size> usualOrder(const Attributes& attributes, std::vector<Size> shape) {
  if (channelsLast(attributes)) std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

// One zero point for all of x; of w one, or one for each output channel.
Status inferConvInteger(InferContext& c) {
  TensorOperand x, w;
  DYN_CHECK(checkConvShapes(c, &x, &w));
  w.dims = usualOrder(c.attributes(), w.dims);
  DYN_CHECK(requireByte(c, x, "the input"));
  DYN_CHECK(requireByte(c, w, "the weights"));
  for (int i = 2; i <= 3; ++i) {
    if (!c.hasOperand(i)) continue;
    DYN_TRY(TensorOperand zero, tensorOperand(c, i));
    DYN_CHECK(requireSameDtype(c, i == 2 ? x : w, zero));
    if (zero.rank() == 0 || (zero.rank() == 1 && zero.dims[0].isConstant(1))) continue;
    if (zero.rank() > 1)
      return c.error(DiagnosticId::shapeMismatch, "zero points of " + zero.type.toString());
    if (i == 2)
      DYN_CHECK(c.requireEqual(zero.dims[0], constantDim(c, 1), "one zero point of the input"));
    else
      DYN_CHECK(requireStretches(c, zero.dims[0], w.dims[0], "zero points, one per output channel"));
  }
  DYN_TRY(Shape shape, convShape(c, x, w.dims));
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
  if (!channelsLast(c.attributes())) return convolve(c, x, w, nullptr);
  const std::vector<int64_t> shape = usualOrder(c.attributes(), w.shape());
  DYN_TRY(HostTensor usual, newTensor(Dtype::i32, shape));
  const int64_t channels = shape[1], taps = sizeProduct(shape, 2, static_cast<int>(shape.size()));
  for (int64_t i = 0; i < w.elementCount(); ++i) {
    const int64_t filter = i / (taps * channels), tap = i / channels % taps, channel = i % channels;
    usual.setInt((filter * channels + channel) * taps + tap, w.intAt(i));
  }
  return convolve(c, x, usual, nullptr);
}

Result<Expr> lowerConvInteger(LowerContext& c, int, std::span<const Expr> index) {
  if (channelsLast(c.attributes()))
    return c.error(DiagnosticId::unsupportedOp, "weights with channels last are for the builtin");
  const auto without = [&](int zeros) -> ConvElement {
    return [&c, zeros, index](Expr element) -> Result<Expr> {
      const Expr number = castTo(element, Dtype::i32);
      if (!c.hasOperand(zeros)) return number;
      std::vector<Expr> at;
      const Type type = c.operandType(zeros);
      if (type.rank() == 1)
        at.push_back(stretchedPlace(c, type.dims()[0], c.operandType(1).dims()[0], index[1]));
      DYN_TRY(Expr zero, c.read(zeros, at));
      return number - castTo(zero, Dtype::i32);
    };
  };
  return convSum(c, index, Dtype::i32, without(2), without(3));
}

Status fillConvInteger(const BuiltinRequest& request, CallFields<calls::Byteconv>& call) {
  const Op& op = request.op;
  const Shape& x = request.operandTypes[0].dims();
  call.numbers.channelsLast = channelsLast(op.attributes);
  DYN_CHECK(fillWindow(op, static_cast<int>(x.size()) - 2, call.numbers));
  return beginPads(op, x, usualOrder(op.attributes, request.operandTypes[1].dims()), &call.scalars.pads);
}

constexpr AttributeSpec kConvIntegerAttributes[] = {
    kConvAttributes[0],
    kConvAttributes[1],
    kConvAttributes[2],
    kConvAttributes[3],
    kConvAttributes[4],
    kConvAttributes[5],
    {"channels_last", AttributeKind::integer, false,
     "1: w is [m, k..., c/group], c/group a multiple of 4; default 0", Allowed::flag()},
};
static_assert(std::size(kConvAttributes) == 6);

bool builtinConvIntegerTakes(const Op&, std::span<const Type> operandTypes) {
  return operandTypes[0].rank() <= 5;
}

// --- packed, of images with their channels last

constexpr AttributeSpec kPackedAttributes[] = {
    kConvAttributes[0],
    kConvAttributes[1],
    kConvAttributes[2],
    kConvAttributes[3],
    kConvAttributes[4],
    {"weights", AttributeKind::dims, true, "the shape of the weights before they were packed",
     Allowed::any()},
};

Status inferConvIntegerPacked(InferContext& c) {
  constexpr int kRank = 4;
  DYN_TRY(TensorOperand x, tensorOperand(c, 0, kRank));
  DYN_TRY(TensorOperand packed, tensorOperand(c, 1, 1));
  DYN_CHECK(requireByte(c, x, "the input"));
  DYN_CHECK(requireDtype(c, packed, Dtype::i8, "the packed weights"));
  const Shape w = c.attributes().dims("weights");
  if (w.size() != kRank)
    return c.error(DiagnosticId::rankMismatch,
                   "the weights have two spatial axes, not " + packed.type.toString());
  for (Dim d : w)
    if (!d.isConstant())
      return c.error(DiagnosticId::badAttribute, "the weights' sizes are constants, not " + d.toString());
  const int64_t group = c.attributes().integer("group", 1);
  if (group != 1 && !(w[0].isConstant(group) && w[1].isConstant(1)))
    return c.error(DiagnosticId::badAttribute, "groups are of one channel and one filter each");
  if (c.hasOperand(2)) {
    DYN_TRY(TensorOperand zero, tensorOperand(c, 2));
    DYN_CHECK(requireSameDtype(c, x, zero));
    if (zero.rank() > 1)
      return c.error(DiagnosticId::shapeMismatch, "zero points of " + zero.type.toString());
    if (zero.rank() == 1)
      DYN_CHECK(c.requireEqual(zero.dims[0], constantDim(c, 1), "one zero point of the input"));
  }
  x.dims = withPlanes<Dim>(x.dims);
  DYN_TRY(Shape shape, convShape(c, x, w));
  setTensor(c, withChannelsLast<Dim>(shape), Dtype::i32);
  return {};
}

// [m, c/group, h, w] in i32 of what stands in runs (dyn_byte_window.h), packed as the reference packs, or
// depthwise of [taps, channels].
Result<HostTensor> unpacked(const EvalContext& c, const std::vector<int64_t>& shape) {
  const HostTensor& packed = c.operand(1);
  const int64_t filters = shape[0], channels = shape[1], rows = shape[2], columns = shape[3];
  const bool depthwise = c.attributes().integer("group", 1) > 1;
  DYN_TRY(Window window, windowOf(c.op(), 2));
  const ByteRuns runs = ByteRuns::of(rows, columns, window.dilations[1], channels);
  if (packed.elementCount() != filters * (depthwise ? rows * columns : runs.depth()))
    return c.error(DiagnosticId::shapeMismatch, "packed weights of " + shapeText(packed.shape()) +
                                                    " are not those of " + shapeText(shape));
  DYN_TRY(HostTensor usual, newTensor(Dtype::i32, shape));
  int64_t at = 0;
  for (int64_t m = 0; m < filters; ++m)
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t h = 0; h < rows; ++h)
        for (int64_t w = 0; w < columns; ++w) {
          const int64_t inRun = runs.columns == columns && columns > 1 ? channel : w * channels + channel,
                        run = runs.columns == columns && columns > 1 ? h * columns + w : h,
                        depth = depthwise ? h * columns + w : run * runs.padded + inRun;
          usual.setInt(at++, packed.intAt(depth * filters + m));
        }
  return usual;
}

Status evaluateConvIntegerPacked(EvalContext& c) {
  std::vector<int64_t> shape;
  for (Dim d : c.attributes().dims("weights")) {
    DYN_TRY(int64_t size, c.dimValue(d));
    shape.push_back(size);
  }
  DYN_TRY(HostTensor w, unpacked(c, shape));
  DYN_TRY(HostTensor x, withoutZeros(c, 0, 2, 1));
  DYN_TRY(HostTensor planes, transposed(x, std::vector<int64_t>{0, 3, 1, 2}));
  DYN_TRY(HostTensor sums, convolved(c, planes, w, nullptr));
  DYN_TRY(HostTensor last, transposed(sums, std::vector<int64_t>{0, 2, 3, 1}));
  c.setResult(0, std::move(last));
  return {};
}

Status fillConvIntegerPacked(const BuiltinRequest& request, CallFields<calls::ConvPacked>& call) {
  const Op& op = request.op;
  const Shape x = withPlanes<Dim>(request.operandTypes[0].dims()), w = op.attributes.dims("weights");
  DYN_CHECK(fillWindow(op, 2, call.numbers));
  // "rescale": what lowering lets it do to its sums besides (dyn_byte_rescale.h).
  const auto rescale = static_cast<int32_t>(op.attributes.integer("rescale", 0));
  call.numbers.way = LaidNumber{rescale, ImageLayout::channelsLast}.joined();
  for (Dim d : w) {
    if (*d.constant() > INT32_MAX)
      return makeError(DiagnosticId::badAttribute, "the weights are too large to be packed", op.place);
    call.numbers.sizes.push_back(static_cast<int32_t>(*d.constant()));
  }
  return beginPads(op, x, w, &call.scalars.pads);
}

}  // namespace

namespace ops {

const OpDef conv_integerOp{
    .name = "conv_integer",
    .summary = "convolution of 8-bit integers less their zero points, in i32",
    .cls = OpClass::contraction,
    .traits = {.keepsRank = true, .flatPositions = true, .epilogue = Dtype::i32},
    .minOperands = 2,
    .maxOperands = 4,
    .attributes = kConvIntegerAttributes,
    .infer = inferConvInteger,
    .evaluate = evaluateConvInteger,
    .lowering = LoweringKind::builtin,
    .lower = lowerConvInteger,
    .builtin = calling<calls::Byteconv, fillConvInteger>,
    .builtinTakes = builtinConvIntegerTakes,
    .operandRules = kAnyElements,
    .doc =
        "x [n, c, s...], w [m, c/group, k...] of i8 or u8, x_zero [], w_zero [] or [m] -> [n, m, o...] "
        "i32, as conv; outside of x there is its zero point.",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), u8], %w: Tensor[(4, 3, 3, 3), i8], %z: Tensor[(), u8]) "
        "{ %y = conv_integer(%x, %w, %z) {pads = [1, 1, 1, 1], strides = [2, 2]} return %y }",
};

const OpDef conv_integer_packedOp{
    .name = "conv_integer_packed",
    .summary = "the integer convolution of images with their channels last, with packed weights",
    .cls = OpClass::contraction,
    .traits = {.epilogue = Dtype::i32},
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kPackedAttributes,
    .infer = inferConvIntegerPacked,
    .evaluate = evaluateConvIntegerPacked,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::ConvPacked, fillConvIntegerPacked>,
    .operandRules = kAnyElements,
    .doc =
        "x [n, h, w, c] of i8 or u8, packed [?] i8, x_zero [] -> [n, oh, ow, m] i32 as conv_integer. Packed "
        "is "
        "pack_bytes of [m, runs]: runs of a window, each filled up to words of four with zeros, are its rows "
        "where columns are not dilated, else its places. Depthwise: [taps * c], not packed.",
    .example =
        "fn @main(%x: Tensor[(n, h, w, 4), u8], %k: Tensor[(6, 36), i8], %z: Tensor[(), u8]) "
        "{ %p = pack_bytes(%k) {transpose = 1} "
        "%y = conv_integer_packed(%x, %p, %z) {weights = dims(6, 4, 3, 3), pads = [1, 1, 1, 1]} return %y }",
};

}  // namespace ops
}  // namespace dyn
