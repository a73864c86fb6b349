// Sampling at computed places: affine_grid makes the places, grid_sample looks them up.
#include "compiler/ops/image/sampling_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/reduce_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::UnaryOp;

namespace {

// --- grid_sample

enum class SampleMode : uint8_t { linear, nearest, cubic };
enum class Border : uint8_t { zeros, edge, reflection };

struct SampleOptions {
  SampleMode mode = SampleMode::linear;
  Border border = Border::zeros;
  bool alignCorners = false;
};

constexpr double kSampleCubicA = -0.75;

// How far beyond the border a place may lie and still be told from the border. Every element that a cubic
// reads lies at the border by itself, so a place beyond it has a value of its own until all four lie there.
int kept(SampleMode mode) { return mode == SampleMode::cubic ? 2 : 0; }

template <typename Context>
Result<SampleOptions> sampleOptions(const Context& c) {
  SampleOptions o;
  const std::string mode = c.attributes().string("mode", "linear");
  const std::string border = c.attributes().string("padding_mode", "zeros");
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    return c.error(DiagnosticId::badAttribute,
                   "mode \"" + mode + "\" is unknown: it is linear, nearest or cubic");
  if (border != "zeros" && border != "border" && border != "reflection")
    return c.error(DiagnosticId::badAttribute,
                   "padding_mode \"" + border + "\" is unknown: it is zeros, border or reflection");
  o.mode = mode == "linear"    ? SampleMode::linear
           : mode == "nearest" ? SampleMode::nearest
                               : SampleMode::cubic;
  o.border = border == "zeros" ? Border::zeros : border == "border" ? Border::edge : Border::reflection;
  o.alignCorners = c.attributes().integer("align_corners", 0) != 0;
  return o;
}

Status inferGridSample(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand grid, tensorOperand(c, 1));
  DYN_CHECK(requireClass(c, grid, {DtypeClass::real}, "the grid"));
  DYN_TRY(SampleOptions o, sampleOptions(c));
  if (x.rank() < 3 || grid.rank() != x.rank())
    return c.error(DiagnosticId::rankMismatch,
                   "the operand is [n, c, spatial...] and the grid of the same rank, they are " +
                       x.type.toString() + " and " + grid.type.toString());
  DYN_CHECK(requireClass(c, x,
                         {DtypeClass::real, DtypeClass::integer, DtypeClass::natural, DtypeClass::boolean},
                         "the operand"));
  if (o.mode != SampleMode::nearest)
    DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "what is interpolated"));
  DYN_CHECK(c.requireEqual(x.dims[0], grid.dims[0], "batches of operand and grid"));
  DYN_CHECK(
      c.requireEqual(grid.dims.back(), constantDim(c, x.rank() - 2), "one coordinate per spatial axis"));
  for (size_t axis = 2; axis < x.dims.size(); ++axis)
    DYN_CHECK(c.requireLessEqual(constantDim(c, 1), x.dims[axis], "there is something to sample"));
  Shape shape{x.dims[0], x.dims[1]};
  shape.insert(shape.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  setTensor(c, shape, x.dtype);
  return {};
}

// `x` mirrored at `low` and `high` until it lies between them.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const double away = x < low ? low - x : x - high, turns = std::floor(away / range),
               rest = away - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

// The taps along an axis of `size` elements for a coordinate in [-1, 1], as the grid's type computes it. NaN
// reads as -1, as PyTorch's page says and onnxruntime does. An infinite coordinate lies outside; it has no
// mirror image, and with the border `reflection` reads as -1, too, as both do.
std::vector<Tap> sampleTaps(const SampleOptions& o, Dtype gridType, double coordinate, int64_t size) {
  const auto rounded = [&](double value) {
    return gridType == Dtype::f64 ? value : static_cast<double>(static_cast<float>(value));
  };
  const double length = static_cast<double>(size), last = length - 1;
  double x = o.alignCorners ? rounded(rounded(rounded(coordinate + 1) / 2) * last)
                            : rounded(rounded(rounded(rounded(coordinate + 1) * length) - 1) / 2);
  const double low = o.alignCorners ? 0 : -0.5, high = o.alignCorners ? last : length - 0.5;
  if (std::isnan(x) || (o.border == Border::reflection && std::isinf(x))) x = low;
  if (o.mode == SampleMode::nearest) x = std::nearbyint(x);
  if (o.border == Border::edge && (x < low || x > high))
    x = std::clamp(x, 0.0 - kept(o.mode), last + kept(o.mode));
  if (o.border == Border::reflection) x = reflected(x, low, high);
  const auto tap = [&](double at, double weight) {
    if (o.border == Border::reflection) at = std::trunc(reflected(at, low, high));
    const bool outside = !(at >= 0 && at <= last);
    return Tap{outside && !(at >= 0) ? 0 : static_cast<int64_t>(std::min(at, last)), weight,
               outside && o.border == Border::zeros};
  };
  if (o.mode == SampleMode::nearest) return {tap(x, 1)};
  const double base = std::floor(x), part = x - base;
  if (o.mode == SampleMode::linear) return {tap(base, 1 - part), tap(base + 1, part)};
  std::vector<Tap> taps;
  for (int k = -1; k <= 2; ++k) taps.push_back(tap(base + k, cubicWeight(kSampleCubicA, part - k)));
  return taps;
}

Status evaluateGridSample(EvalContext& c) {
  const HostTensor &x = c.operand(0), &grid = c.operand(1);
  DYN_TRY(SampleOptions o, sampleOptions(c));
  const size_t spatial = x.shape().size() - 2;
  if (x.shape()[0] != grid.shape()[0] || grid.shape().back() != static_cast<int64_t>(spatial))
    return c.error(DiagnosticId::shapeMismatch, "operand and grid do not go together");
  for (size_t axis = 0; axis < spatial; ++axis) {
    if (x.shape()[axis + 2] == 0)
      return c.error(DiagnosticId::shapeCheckFailed, "there is nothing to sample");
  }
  std::vector<int64_t> shape{x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  const int64_t places = sizeProduct(shape, 2, static_cast<int>(shape.size())), channels = shape[1];
  for (int64_t flat = 0; flat < result.elementCount(); ++flat) {
    const int64_t place = flat % places, channel = flat / places % channels, batch = flat / places / channels;
    std::vector<std::vector<Tap>> along{{{batch}}, {{channel}}};
    for (size_t k = 0; k < spatial; ++k) {
      // Coordinates are named from the last axis on.
      const int64_t at =
          (batch * places + place) * static_cast<int64_t>(spatial) + static_cast<int64_t>(spatial - 1 - k);
      along.push_back(sampleTaps(o, grid.dtype(), grid.realAt(at), x.shape()[k + 2]));
    }
    const std::vector<Tap> taps = combined(along, strides);
    if (o.mode == SampleMode::nearest && !isReal(x.dtype())) {
      result.setInt(flat, taps[0].outside ? 0 : x.intAt(taps[0].at));
      continue;
    }
    double sum = 0;
    for (const Tap& tap : taps) sum += tap.outside ? 0 : tap.weight * x.realAt(tap.at);
    result.setReal(flat, sum);
  }
  c.setResult(0, std::move(result));
  return {};
}

// As reflected(): in f64, as a coordinate far outside has no halves left in f32.
Expr lowerReflected(LowerContext& c, Expr x, Expr low, Expr high) {
  const auto constant = [&](double value) { return c.number(value, x.dtype()); };
  const Expr range = high - low, below = x < low;
  const Expr away = select(below, low - x, x - high);
  const Expr turns = unary(UnaryOp::floor, away / range), rest = away - turns * range;
  const Expr even = unary(UnaryOp::floor, turns / constant(2)) * constant(2) == turns;
  const Expr mirrored = select(below == even, low + rest, high - rest);
  return select(range <= constant(0), low, select(x >= low && x <= high, x, mirrored));
}

// The place of a coordinate along an axis, counted in elements, in the coordinate's type.
Expr samplePlaceOf(LowerContext& c, const SampleOptions& o, Expr coordinate, Dim size) {
  const auto constant = [&](double value) { return c.number(value, coordinate.dtype()); };
  const Expr length = castTo(c.dim(size), coordinate.dtype());
  const Expr x = o.alignCorners ? (coordinate + constant(1)) / constant(2) * (length - constant(1))
                                : ((coordinate + constant(1)) * length - constant(1)) / constant(2);
  const Expr low = constant(o.alignCorners ? 0 : -0.5);
  if (o.border != Border::reflection) return select(isNotANumber(x), low, x);
  const double largest = coordinate.dtype() == Dtype::f32 ? std::numeric_limits<float>::max()
                                                          : std::numeric_limits<double>::max();
  return select(unary(UnaryOp::abs, x) <= constant(largest), x, low);
}

// As sampleTaps.
std::vector<LoweredTap> lowerSampleTaps(LowerContext& c, const SampleOptions& o, Expr coordinate, Dim size) {
  const Dtype dtype = o.border == Border::reflection ? Dtype::f64 : coordinate.dtype();
  const auto constant = [&](double value) { return c.number(value, dtype); };
  const Expr length = castTo(c.dim(size), dtype), last = length - constant(1);
  Expr x = castTo(samplePlaceOf(c, o, coordinate, size), dtype);
  const Expr low = constant(o.alignCorners ? 0 : -0.5), high = o.alignCorners ? last : length - constant(0.5);
  if (o.mode == SampleMode::nearest) x = unary(UnaryOp::round, x);
  if (o.border == Border::edge) {
    const Expr beyond = constant(kept(o.mode));
    x = select(x >= low && x <= high, x, max(min(x, last + beyond), constant(0) - beyond));
  }
  if (o.border == Border::reflection) x = lowerReflected(c, x, low, high);
  // Weights of what is far outside stay finite: they are multiplied by 0.
  if (o.border == Border::zeros) x = max(min(x, last + constant(3)), constant(-3));
  const Expr highest = c.dim(size) - 1, none = c.integer(0);
  const auto tap = [&](Expr at, Expr weight) {
    if (o.border == Border::reflection) at = unary(UnaryOp::trunc, lowerReflected(c, at, low, high));
    LoweredTap made{castTo(at, Dtype::i64), weight, Expr()};
    if (o.border == Border::zeros) {
      made.inside = at >= constant(0) && at <= last;
      made.inside = made.inside && made.at >= none && made.at <= highest;
    } else {
      made.at = max(min(made.at, highest), none);
    }
    return made;
  };
  if (o.mode == SampleMode::nearest) return {tap(x, Expr())};
  const Expr base = unary(UnaryOp::floor, x), part = castTo(x - base, Dtype::f64),
             one = c.number(1, Dtype::f64);
  if (o.mode == SampleMode::linear) return {tap(base, one - part), tap(base + constant(1), part)};
  std::vector<LoweredTap> taps;
  for (int k = -1; k <= 2; ++k)
    taps.push_back(tap(base + constant(k), cubicWeight(c, kSampleCubicA, part - c.number(k, Dtype::f64))));
  return taps;
}

Result<Expr> lowerGridSample(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0);
  DYN_TRY(SampleOptions o, sampleOptions(c));
  std::vector<std::vector<LoweredTap>> along{{{index[0], Expr(), Expr()}}, {{index[1], Expr(), Expr()}}};
  std::vector<Expr> at{index[0]};
  at.insert(at.end(), index.begin() + 2, index.end());
  at.push_back(Expr());
  const size_t spatial = index.size() - 2;
  for (size_t k = 0; k < spatial; ++k) {
    at.back() = c.integer(static_cast<int64_t>(spatial - 1 - k));
    DYN_TRY(Expr coordinate, c.read(1, at));
    coordinate = castTo(coordinate, accumulationDtype(coordinate.dtype()));
    along.push_back(lowerSampleTaps(c, o, coordinate, x.dims()[k + 2]));
  }
  const Dtype dtype = x.dtype();
  DYN_TRY(Expr sum, weightedSum(c, 0, along, isReal(dtype) ? accumulationDtype(dtype) : dtype));
  return castTo(sum, dtype);
}

// The builtin: images of f32, linear between elements.
bool builtinGridSampleTakes(const Op& op, std::span<const Type> types) {
  const auto isImage = [](const Type& type) {
    return type.isTensor() && type.dtype() == Dtype::f32 && type.rank() == 4;
  };
  return op.attributes.string("mode", "linear") == "linear" && isImage(types[0]) && isImage(types[1]);
}

Status fillGridSample(const BuiltinRequest& request, CallFields<calls::GridSample>& call) {
  const Attributes& attributes = request.op.attributes;
  const std::string border = attributes.string("padding_mode", "zeros");
  call.numbers.outside = border == "zeros"    ? DYN_SAMPLE_ZEROS
                         : border == "border" ? DYN_SAMPLE_BORDER
                                              : DYN_SAMPLE_REFLECTION;
  call.numbers.alignCorners = attributes.integer("align_corners", 0) != 0;
  return {};
}

constexpr AttributeSpec kGridSampleAttributes[] = {
    {"mode", AttributeKind::string, false, "linear, nearest or cubic; default linear",
     Allowed::oneOf("linear nearest cubic")},
    {"padding_mode", AttributeKind::string, false,
     "outside of the operand lie zeros, its border, or its reflection; default zeros",
     Allowed::oneOf("zeros border reflection")},
    {"align_corners", AttributeKind::integer, false,
     "1: -1 and 1 are the centres of the corner elements; 0: their outer edges; default 0", Allowed::flag()},
};

// --- affine_grid

constexpr AttributeSpec kAffineGridAttributes[] = {
    {"align_corners", AttributeKind::integer, false, "as of grid_sample; default 0", Allowed::flag()},
};

Status inferAffineGrid(InferContext& c) {
  DYN_TRY(TensorOperand theta, tensorOperand(c, 0, 3));
  DYN_CHECK(requireClass(c, theta, {DtypeClass::real}, "the transformation"));
  DYN_TRY(Contents sizes, vectorContents(c, 1, "the size"));
  const int64_t spatial = static_cast<int64_t>(sizes.size()) - 2;
  if (spatial != 2 && spatial != 3)
    return c.error(DiagnosticId::rankMismatch, "the size is [n, c, h, w] or [n, c, d, h, w]");
  DYN_CHECK(c.requireEqual(theta.dims[1], constantDim(c, spatial), "rows of the transformation"));
  DYN_CHECK(c.requireEqual(theta.dims[2], constantDim(c, spatial + 1), "columns of the transformation"));
  DYN_TRY(Dim batch, sizeDim(c, 1, 0, "the batch size"));
  DYN_CHECK(c.requireEqual(theta.dims[0], batch, "one transformation for each batch"));
  Shape shape{theta.dims[0]};
  for (int64_t k = 0; k < spatial; ++k) {
    DYN_TRY(Dim size, sizeDim(c, 1, k + 2, "size " + std::to_string(k + 2) + " of the grid"));
    shape.push_back(size);
  }
  shape.push_back(constantDim(c, spatial));
  setTensor(c, shape, theta.dtype);
  return {};
}

Status evaluateAffineGrid(EvalContext& c) {
  const HostTensor& theta = c.operand(0);
  const std::vector<int64_t> sizes = elementsOf(c.operand(1));
  const bool alignCorners = c.attributes().integer("align_corners", 0) != 0;
  const int64_t spatial = static_cast<int64_t>(sizes.size()) - 2;
  if (theta.shape() != std::vector<int64_t>{sizes[0], spatial, spatial + 1})
    return c.error(DiagnosticId::shapeMismatch, "a transformation of " + shapeText(theta.shape()));
  std::vector<int64_t> shape{sizes[0]};
  shape.insert(shape.end(), sizes.begin() + 2, sizes.end());
  shape.push_back(spatial);
  DYN_TRY(HostTensor result, newTensor(theta.dtype(), shape));
  OffsetWalk walk(shape, {});
  for (int64_t flat = 0; flat < result.elementCount(); ++flat, walk.next()) {
    const int64_t row = (walk.index()[0] * spatial + walk.index().back()) * (spatial + 1);
    double sum = theta.realAt(row + spatial);
    for (int64_t k = 0; k < spatial; ++k) {
      // Column 0 belongs to the last axis.
      const size_t axis = static_cast<size_t>(spatial - k);
      const double size = static_cast<double>(shape[axis]), at = static_cast<double>(walk.index()[axis]);
      const double centre = !alignCorners ? (2 * at + 1) / size - 1 : size > 1 ? 2 * at / (size - 1) - 1 : -1;
      sum += theta.realAt(row + k) * centre;
    }
    result.setReal(flat, sum);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerAffineGrid(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.resultType(0);
  const Dtype computed = accumulationDtype(type.dtype());
  const auto constant = [&](double value) { return c.number(value, computed); };
  const bool alignCorners = c.attributes().integer("align_corners", 0) != 0;
  const int64_t spatial = type.rank() - 2;
  Expr sum;
  for (int64_t k = 0; k <= spatial; ++k) {
    const Expr at[] = {index[0], index.back(), c.integer(k)};
    DYN_TRY(Expr factor, c.read(0, at));
    factor = castTo(factor, computed);
    if (k < spatial) {
      const size_t axis = static_cast<size_t>(spatial - k);
      const Expr size = castTo(c.dim(type.dims()[axis]), computed), i = castTo(index[axis], computed);
      const Expr edges = (constant(2) * i + constant(1)) / size - constant(1);
      const Expr corners =
          select(size > constant(1), constant(2) * i / (size - constant(1)) - constant(1), constant(-1));
      factor = factor * (alignCorners ? corners : edges);
    }
    sum = sum ? sum + factor : factor;
  }
  return castTo(sum, type.dtype());
}

constexpr OperandRule kAffineGridRules[] = {
    {1, ElementsAre::byRule, "sizes of at least 0, the first that of operand 0"}};

}  // namespace

namespace ops {

const OpDef grid_sampleOp{
    .name = "grid_sample",
    .summary = "the operand at the places that a grid names",
    .cls = OpClass::injective,
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kGridSampleAttributes,
    .infer = inferGridSample,
    .evaluate = evaluateGridSample,
    .lowering = LoweringKind::loops,
    .lower = lowerGridSample,
    .builtin = calling<calls::GridSample, fillGridSample>,
    .builtinTakes = builtinGridSampleTakes,
    .operandRules = kAnyElements,
    .doc =
        "x [n, c, s...], grid [n, o..., r], r the number of spatial axes -> [n, c, o...]; a coordinate of -1 "
        "is the "
        "begin of its axis, 1 the end, the last axis named first; NaN reads as -1, and so does an infinite "
        "one "
        "under reflection",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32], %g: Tensor[(n, a, b, 2), f32]) "
        "{ %y = grid_sample(%x, %g) {mode = \"linear\"} return %y }",
};

const OpDef affine_gridOp{
    .name = "affine_grid",
    .summary = "the grid of places that affine transformations of a regular grid give",
    .cls = OpClass::injective,
    .traits = {.firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kAffineGridAttributes,
    .infer = inferAffineGrid,
    .evaluate = evaluateAffineGrid,
    .lowering = LoweringKind::loops,
    .lower = lowerAffineGrid,
    .operandRules = kAffineGridRules,
    .doc =
        "theta [n, r, r+1], size [r+2] i64 = [n, c, s...] -> [n, s..., r], r = 2 or 3: places for "
        "grid_sample",
    .example =
        "fn @main(%t: Tensor[(n, 2, 3), f32], %x: Tensor[(n, 3, h, w), f32]) "
        "{ %s = shape(%x) %y = affine_grid(%t, %s) return %y }",
};

}  // namespace ops
}  // namespace dyn
