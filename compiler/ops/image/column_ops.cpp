// col2im: windows are added up to an image.
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/window_rules.h"

namespace dyn {

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
    return c.error(DiagnosticId::shapeMismatch, shapeText(x.shape()) + " are not columns of these windows");
  const int64_t channels = x.shape()[1] / taps;
  std::vector<int64_t> shape{x.shape()[0], channels};
  shape.insert(shape.end(), image.begin(), image.end());
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  for (int64_t outer = 0; outer < shape[0] * channels; ++outer) {
    std::vector<double> sums(static_cast<size_t>(space), 0);
    std::vector<uint64_t> integers(static_cast<size_t>(space), 0);  // they wrap
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
        if (!inside) continue;
        const int64_t from = (outer * taps + k) * windows + o;
        if (isReal(x.dtype()))
          sums[static_cast<size_t>(at)] += x.realAt(from);
        else
          integers[static_cast<size_t>(at)] += static_cast<uint64_t>(x.intAt(from));
      }
    }
    for (int64_t i = 0; i < space; ++i) {
      if (isReal(x.dtype())) {
        result.setReal(outer * space + i, sums[static_cast<size_t>(i)]);
      } else {
        result.setInt(outer * space + i, static_cast<int64_t>(integers[static_cast<size_t>(i)]));
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillCol2im(const BuiltinRequest& request, CallFields<calls::Col2im>& call) {
  const Op& op = request.op;
  const Dtype dtype = request.operandTypes[0].dtype();
  if (dtype != Dtype::f32 && dtype != Dtype::f64 && !isInteger(dtype))
    return makeError(DiagnosticId::unsupportedDtype,
                     "unsupported: col2im of " + std::string(toString(dtype)) + " is not compiled", op.place);
  const int rank = op.results[0].type.rank() - 2;
  DYN_TRY(Window window, windowOf(op, rank));
  call.numbers.strides = numbersOf(window.strides);
  call.numbers.dilations = numbersOf(window.dilations);
  call.numbers.pads = numbersOf(window.padsBegin);
  call.numbers.padsBehind = numbersOf(window.padsEnd);
  return {};
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
    .builtin = calling<calls::Col2im, fillCol2im>,
    .operandRules = kCol2imRules,
    .doc =
        "x [n, c * product of k, places], image [r] i64, window k [r] i64 -> [n, c, image...]; places are "
        "those of a "
        "convolution of the image with the window",
    .example =
        "fn @main(%x: Tensor[(n, 8, 9), f32]) { %i = constant() {value = i64[2] [4, 4]} "
        "%k = constant() {value = i64[2] [2, 2]} %y = col2im(%x, %i, %k) return %y }",
};

}  // namespace ops
}  // namespace dyn
