// resize: a tensor sampled on another grid, by the nearest element, linearly or by cubics.
#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/loop/scalar_math.h"
#include "compiler/ops/image/resize_rules.h"
#include "compiler/ops/image/sampling_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/need.h"

namespace dyn {

using loop::BinaryOp;
using loop::Expr;
using loop::LowerContext;
using loop::UnaryOp;

namespace {

constexpr int kRoi = 1, kScales = 2, kSizes = 3;

// The nearest element is looked for in f32, as ONNX Runtime and PyTorch do: a scale of 0.6 is an f32 already,
// and only with its rounding does 3 / 0.6 fall on element 5. Weights want places in f64.
Dtype placeDtype(const ResizeOptions& o) { return o.mode == ResizeMode::nearest ? Dtype::f32 : Dtype::f64; }

// Left out, or given with no element (as ONNX writes it).
bool isGiven(bool has, const std::function<Type()>& type) {
  if (!has) return false;
  const Type t = type();
  return !(t.isTensor() && t.rank() == 1 && t.dims()[0].isConstant(0));
}

bool hasScales(const LowerContext& c) {
  return isGiven(c.hasOperand(kScales), [&] { return c.operandType(kScales); });
}

// --- types

Status inferSizes(InferContext& c, const ResizeOptions& o, const Shape& input, Shape* shape) {
  DYN_TRY(Contents contents, vectorContents(c, kSizes, "the sizes"));
  if (contents.size() != o.axes.size())
    return c.error(DiagnosticId::shapeMismatch, "there is one size per axis");
  if (o.policy == AspectPolicy::stretch) {
    for (size_t k = 0; k < o.axes.size(); ++k) {
      const Dim size =
          contents[k] ? contents[k] : c.freshFromOperand(kSizes, static_cast<int64_t>(k), "a size of resize");
      DYN_CHECK(c.requireLessEqual(constantDim(c, 0), size, "sizes are not negative"));
      (*shape)[static_cast<size_t>(o.axes[k])] = size;
    }
    return {};
  }
  std::vector<int64_t> sizes, inputs;
  for (size_t k = 0; k < o.axes.size(); ++k) {
    const Dim from = c.solver().canonical(input[static_cast<size_t>(o.axes[k])]);
    if (!contents[k] || !contents[k].isConstant() || !from.isConstant() || from.isConstant(0))
      return c.error(DiagnosticId::unsupportedFeature,
                     "keeping proportions needs sizes known at compile time");
    sizes.push_back(*contents[k].constant());
    inputs.push_back(*from.constant());
  }
  const double scale = *commonScale(o.policy, sizes, inputs);
  for (size_t k = 0; k < o.axes.size(); ++k) {
    const int64_t size = roundedSize(scale, inputs[k]);
    if (size < 0)
      return c.error(DiagnosticId::shapeCheckFailed,
                     "an axis of " + std::to_string(inputs[k]) + " cannot be resized");
    (*shape)[static_cast<size_t>(o.axes[k])] = constantDim(c, size);
  }
  return {};
}

Status inferScales(InferContext& c, const ResizeOptions& o, const Shape& input, Shape* shape) {
  const HostTensor* scales = c.operandConstant(kScales);
  if (!scales)
    return operandNeeded(c, kScales, Need::Kind::contents, "scales are computed at run time; sizes may be");
  if (!isReal(scales->dtype()) || scales->elementCount() != static_cast<int64_t>(o.axes.size()))
    return c.error(DiagnosticId::shapeMismatch, "there is one real scale per axis");
  for (size_t k = 0; k < o.axes.size(); ++k) {
    const size_t axis = static_cast<size_t>(o.axes[k]);
    const Dim size = scaledSize(input[axis], static_cast<float>(scales->realAt(static_cast<int64_t>(k))));
    if (size.isInvalid()) return c.error(DiagnosticId::badAttribute, "a scale is positive");
    (*shape)[axis] = size;
  }
  return {};
}

Status inferResize(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x,
                         {DtypeClass::real, DtypeClass::integer, DtypeClass::natural, DtypeClass::boolean},
                         "the operand"));
  DYN_TRY(ResizeOptions o, resizeOptions(c.op(), x.rank()));
  if (o.mode != ResizeMode::nearest && x.dtype == Dtype::boolean)
    return c.error(DiagnosticId::dtypeMismatch, "booleans are resized by the nearest element only");
  const bool scales = isGiven(c.hasOperand(kScales), [&] { return c.operandType(kScales); });
  const bool sizes = isGiven(c.hasOperand(kSizes), [&] { return c.operandType(kSizes); });
  if (!scales && !sizes) return c.error(DiagnosticId::badOperands, "scales or sizes must be given");
  if (scales && sizes) {
    DYN_TRY(TensorOperand factors, tensorOperand(c, kScales, 1));
    DYN_CHECK(requireClass(c, factors, {DtypeClass::real}, "the scales"));
    DYN_CHECK(c.requireEqual(factors.dims[0], constantDim(c, static_cast<int64_t>(o.axes.size())),
                             "one scale for each axis"));
    if (o.policy != AspectPolicy::stretch)
      return c.error(DiagnosticId::badAttribute, "proportions cannot be kept with sizes and scales given");
  }
  if (o.coordinates == Coordinates::cropAndResize) {
    DYN_TRY(TensorOperand roi, tensorOperand(c, kRoi, 1));
    DYN_CHECK(requireClass(c, roi, {DtypeClass::real}, "the region"));
    DYN_CHECK(c.requireEqual(roi.dims[0], constantDim(c, 2 * static_cast<int64_t>(o.axes.size())),
                             "begins and ends of the region"));
  }
  Shape shape = x.dims;
  DYN_CHECK(sizes ? inferSizes(c, o, x.dims, &shape) : inferScales(c, o, x.dims, &shape));
  setTensor(c, shape, x.dtype);
  return {};
}

// --- evaluation

struct SampledAxis {
  double scale = 1, begin = 0, end = 1;  // begin, end: the region
  int64_t input = 0, output = 0;
  bool resized = false;

  // Real: the type that places are computed in, placeDtype().
  template <typename Real>
  Real placeIn(const ResizeOptions& o, int64_t index) const {
    const Real i = static_cast<Real>(index), in = static_cast<Real>(input), out = static_cast<Real>(output),
               half = static_cast<Real>(0.5), one = 1, by = static_cast<Real>(scale);
    const Real from = static_cast<Real>(begin), to = static_cast<Real>(end);
    switch (o.coordinates) {
      case Coordinates::halfPixel:
        return (i + half) / by - half;
      case Coordinates::halfPixelSymmetric:
        return in / 2 * (one - out / (by * in)) + (i + half) / by - half;
      case Coordinates::pytorchHalfPixel:
        return output > 1 ? (i + half) / by - half : 0;
      case Coordinates::alignCorners:
        return output > 1 ? i * (in - one) / (out - one) : 0;
      case Coordinates::asymmetric:
        return i / by;
      case Coordinates::cropAndResize:
        return output > 1 ? from * (in - one) + i * (to - from) * (in - one) / (out - one)
                          : half * (from + to) * (in - one);
      case Coordinates::halfPixelForNearest:  // an axis that keeps its scale keeps its elements
        return by == one ? i : (i + half) / by;
    }
    return i;
  }
  double place(const ResizeOptions& o, int64_t index) const {
    return placeDtype(o) == Dtype::f32 ? static_cast<double>(placeIn<float>(o, index))
                                       : placeIn<double>(o, index);
  }
};

double nearestPlace(NearestMode mode, double x, double scale) {
  switch (mode) {
    case NearestMode::roundPreferFloor:
      return std::ceil(x - 0.5);
    case NearestMode::roundPreferCeil:
      return std::floor(x + 0.5);
    case NearestMode::floor:
      return std::floor(x);
    case NearestMode::ceil:
      return std::ceil(x);
    case NearestMode::byScale:
      return scale < 1 ? std::ceil(x) : std::floor(x);
  }
  return x;
}

// How far the filter of a mode reaches, in elements.
int64_t reachOf(const ResizeOptions& o) { return o.mode == ResizeMode::linear ? 1 : 2; }

double filterWeight(const ResizeOptions& o, double distance) {
  return o.mode == ResizeMode::linear ? std::max(0.0, 1 - std::fabs(distance))
                                      : cubicWeight(o.cubicA, distance);
}

// The element nearest to a place. A tiny scale makes places that are no numbers.
int64_t elementAt(const SampledAxis& axis, double place) {
  return place > 0 ? static_cast<int64_t>(std::min(place, static_cast<double>(axis.input - 1))) : 0;
}

// A filter longer than that follows from no sizes, but from a tiny scale that is given beside them.
bool isTooLong(const ResizeOptions& o, const SampledAxis& axis) {
  constexpr double kMost = 1 << 20;
  return o.antialias && 2 * static_cast<double>(reachOf(o)) / std::min(axis.scale, 1.0) >
                            std::max(kMost, 4 * static_cast<double>(axis.input));
}

// The taps of the filter around x, stretched when the axis shrinks; their weights sum to 1.
std::vector<Tap> filterTaps(const ResizeOptions& o, const SampledAxis& axis, double x) {
  const double scale = std::min(axis.scale, 1.0), reach = static_cast<double>(reachOf(o)) / scale;
  std::vector<Tap> taps;
  double sum = 0;
  for (double at = std::ceil(x - reach); at <= x + reach; ++at) {
    const int64_t inside = elementAt(axis, at);
    const bool outside = static_cast<double>(inside) != at;
    const double weight = o.excludeOutside && outside ? 0 : filterWeight(o, (at - x) * scale);
    taps.push_back({inside, weight});
    sum += weight;
  }
  for (Tap& tap : taps) tap.weight /= sum;
  return taps;
}

std::vector<Tap> tapsOf(const ResizeOptions& o, const SampledAxis& axis, double x) {
  const auto clamped = [&](double at) { return elementAt(axis, at); };
  if (o.antialias) return filterTaps(o, axis, x);
  if (o.mode == ResizeMode::nearest) return {{clamped(nearestPlace(o.nearest, x, axis.scale)), 1}};
  const double base = std::floor(x), part = x - base;
  if (o.mode == ResizeMode::linear) return {{clamped(base), 1 - part}, {clamped(base + 1), part}};
  std::vector<Tap> taps;
  double sum = 0;
  for (int k = -1; k <= 2; ++k) {
    const double at = base + k;
    const bool outside = at < 0 || at > static_cast<double>(axis.input - 1);
    const double weight = o.excludeOutside && outside ? 0 : cubicWeight(o.cubicA, part - k);
    sum += weight;
    taps.push_back({clamped(at), weight});
  }
  if (o.excludeOutside) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

// Scales, regions and sizes of all axes in this run.
Result<std::vector<SampledAxis>> sampledAxes(const EvalContext& c, const ResizeOptions& o) {
  const HostTensor& x = c.operand(0);
  std::vector<SampledAxis> axes(static_cast<size_t>(x.rank()));
  for (size_t k = 0; k < axes.size(); ++k) axes[k].input = axes[k].output = x.shape()[k];
  const bool bySizes = c.hasOperand(kSizes) && c.operand(kSizes).elementCount() > 0;
  const bool byScales = c.hasOperand(kScales) && c.operand(kScales).elementCount() > 0;
  const HostTensor& given = c.operand(bySizes ? kSizes : kScales);
  const size_t count = o.axes.size();
  if (given.elementCount() != static_cast<int64_t>(count))
    return c.error(DiagnosticId::shapeMismatch, "there is one size or scale per axis");
  std::vector<int64_t> inputs;
  for (int axis : o.axes) inputs.push_back(axes[static_cast<size_t>(axis)].input);
  std::optional<double> common;
  if (bySizes) common = commonScale(o.policy, elementsOf(given), inputs);
  DimContext dims;
  for (size_t k = 0; k < count; ++k) {
    SampledAxis& a = axes[static_cast<size_t>(o.axes[k])];
    a.resized = true;
    const int64_t flat = static_cast<int64_t>(k);
    if (!bySizes) {
      a.scale = given.realAt(flat);
      a.output = scaledSize(dims.constant(a.input), static_cast<float>(a.scale)).constant().value_or(-1);
    } else if (common) {
      a.scale = *common;
      a.output = roundedSize(*common, a.input);
    } else {
      a.output = given.intAt(flat);
      a.scale = byScales ? c.operand(kScales).realAt(flat)
                         : static_cast<double>(a.output) / static_cast<double>(a.input);
    }
    if (a.output < 0 || (a.input == 0 && a.output > 0))
      return c.error(DiagnosticId::shapeCheckFailed,
                     "an axis of " + std::to_string(a.input) + " cannot be resized");
    if (a.output > 0 && isTooLong(o, a))
      return c.error(
          DiagnosticId::runtimeError,
          "the scale " + std::to_string(a.scale) + " is too small for an axis of " + std::to_string(a.input));
    if (o.coordinates == Coordinates::cropAndResize) {
      a.begin = c.operand(kRoi).realAt(flat);
      a.end = c.operand(kRoi).realAt(flat + static_cast<int64_t>(count));
    }
  }
  return axes;
}

bool isCropped(const ResizeOptions& o) { return o.coordinates == Coordinates::cropAndResize; }

// Along the first axis, of those sums along the second, and so on, as the standard's evaluator does: what is
// cut to an integer depends on the last bit. Axes with one tap keep their elements.
double sumAxisByAxis(const HostTensor& x, std::span<const std::vector<Tap>> along,
                     std::span<const int64_t> strides, int64_t at = 0) {
  if (along.empty()) return x.realAt(at);
  double sum = 0;
  const std::vector<Tap>& taps = along.back();
  for (const Tap& tap : taps) {
    const double part = sumAxisByAxis(x, along.first(along.size() - 1), strides.first(along.size() - 1),
                                      at + tap.at * strides.back());
    sum += taps.size() > 1 ? tap.weight * part : part;
  }
  return sum;
}

Status evaluateResize(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(ResizeOptions o, resizeOptions(c.op(), x.rank()));
  DYN_TRY(std::vector<SampledAxis> axes, sampledAxes(c, o));
  std::vector<int64_t> shape;
  for (const SampledAxis& a : axes) shape.push_back(a.output);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  OffsetWalk walk(shape, {});
  for (int64_t flat = 0; flat < result.elementCount(); ++flat, walk.next()) {
    std::vector<std::vector<Tap>> along;
    bool outside = false;
    for (size_t k = 0; k < axes.size(); ++k) {
      along.push_back({{walk.index()[k]}});
      if (!axes[k].resized) continue;
      const double place = axes[k].place(o, walk.index()[k]);
      outside = outside || place < 0 || place > static_cast<double>(axes[k].input - 1);
      along[k] = tapsOf(o, axes[k], place);
    }
    const bool weighs = std::any_of(along.begin(), along.end(), [](const auto& t) { return t.size() > 1; });
    if (!isReal(x.dtype()) && weighs && !(outside && isCropped(o))) {
      result.setInt(flat, loop::realToInteger(x.dtype(), sumAxisByAxis(x, along, strides)));
      continue;
    }
    const std::vector<Tap> taps = combined(along, strides);
    if (outside && isCropped(o)) {
      result.setReal(flat, o.extrapolation);
    } else if (!isReal(x.dtype())) {
      result.setInt(flat, x.intAt(taps[0].at));
    } else {
      double sum = 0;
      for (const Tap& tap : taps) sum += tap.weight * x.realAt(tap.at);
      result.setReal(flat, sum);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

// --- lowering

Expr f64(LowerContext& c, double value) { return c.number(value, Dtype::f64); }
Expr realDim(LowerContext& c, Dim d, Dtype dtype) { return castTo(c.dim(d), dtype); }

Result<Expr> scaleOf(LowerContext& c, const ResizeOptions& o, size_t k, Dim in, Dim out) {
  const Dtype dtype = placeDtype(o);
  if (hasScales(c)) {
    const Expr at[] = {c.integer(static_cast<int64_t>(k))};
    DYN_TRY(Expr scale, c.read(kScales, at));
    return castTo(scale, dtype);
  }
  if (o.policy == AspectPolicy::stretch)
    return castTo(realDim(c, out, Dtype::f64) / realDim(c, in, Dtype::f64), dtype);
  std::vector<int64_t> sizes, inputs;
  for (size_t j = 0; j < o.axes.size(); ++j) {
    DYN_TRY(Expr size, c.contents(kSizes, static_cast<int64_t>(j)));
    const Dim from = c.solver().canonical(c.operandType(0).dims()[static_cast<size_t>(o.axes[j])]);
    if (size.kind() != loop::ExprKind::intConstant || !from.isConstant())
      return c.error(DiagnosticId::unsupportedFeature,
                     "keeping proportions needs sizes known at compile time");
    sizes.push_back(size.intValue());
    inputs.push_back(*from.constant());
  }
  return c.number(*commonScale(o.policy, sizes, inputs), dtype);
}

Result<Expr> lowerPlace(LowerContext& c, const ResizeOptions& o, size_t k, Dim in, Dim out, Expr index) {
  const Dtype dtype = placeDtype(o);
  const Expr i = castTo(index, dtype), half = c.number(0.5, dtype), one = c.number(1, dtype),
             none = c.number(0, dtype), width = realDim(c, in, dtype);
  const Expr last = width - one, many = c.dim(out) > c.integer(1);
  if (o.coordinates == Coordinates::alignCorners)
    return select(many, i * last / (realDim(c, out, dtype) - one), none);
  if (o.coordinates == Coordinates::cropAndResize) {
    const Expr beginAt[] = {c.integer(static_cast<int64_t>(k))},
               endAt[] = {c.integer(static_cast<int64_t>(k + o.axes.size()))};
    DYN_TRY(Expr begin, c.read(kRoi, beginAt));
    DYN_TRY(Expr end, c.read(kRoi, endAt));
    begin = castTo(begin, dtype);
    end = castTo(end, dtype);
    return select(many, begin * last + i * (end - begin) * last / (realDim(c, out, dtype) - one),
                  half * (begin + end) * last);
  }
  DYN_TRY(Expr scale, scaleOf(c, o, k, in, out));
  if (o.coordinates == Coordinates::asymmetric) return i / scale;
  if (o.coordinates == Coordinates::halfPixelForNearest)
    return select(scale == one, i, (i + half) / scale);  // an axis that keeps its scale keeps its elements
  const Expr centred = (i + half) / scale - half;
  if (o.coordinates == Coordinates::pytorchHalfPixel) return select(many, centred, none);
  if (o.coordinates == Coordinates::halfPixel) return centred;
  return width / c.number(2, dtype) * (one - realDim(c, out, dtype) / (scale * width)) + (i + half) / scale -
         half;
}

// The element nearest to place x of axis o.axes[k].
Result<Expr> lowerNearest(LowerContext& c, const ResizeOptions& o, size_t k, Dim in, Dim out, Expr x) {
  const Expr down = unary(UnaryOp::floor, x), up = unary(UnaryOp::ceil, x), half = c.number(0.5, x.dtype()),
             one = c.number(1, x.dtype());
  switch (o.nearest) {
    case NearestMode::roundPreferFloor:
      return unary(UnaryOp::ceil, x - half);
    case NearestMode::roundPreferCeil:
      return select(x - down >= half, down + one, down);
    case NearestMode::floor:
      return down;
    case NearestMode::ceil:
      return up;
    case NearestMode::byScale:
      break;
  }
  DYN_TRY(Expr scale, scaleOf(c, o, k, in, out));
  return select(scale < one, up, down);
}

// The taps of axis o.axes[k] around place x.
Result<std::vector<LoweredTap>> lowerTaps(LowerContext& c, const ResizeOptions& o, size_t k, Dim in, Dim out,
                                          Expr x) {
  const Expr highest = c.dim(in) - 1, none = c.integer(0);
  auto clamped = [&](Expr at) { return max(min(castTo(at, Dtype::i64), highest), none); };
  if (o.mode == ResizeMode::nearest) {
    DYN_TRY(Expr at, lowerNearest(c, o, k, in, out, x));
    return std::vector<LoweredTap>{{clamped(at), Expr(), Expr()}};
  }
  const Expr base = unary(UnaryOp::floor, x), part = x - base;
  if (o.mode == ResizeMode::linear)
    return std::vector<LoweredTap>{{clamped(base), f64(c, 1) - part, Expr()},
                                   {clamped(base + f64(c, 1)), part, Expr()}};
  std::vector<LoweredTap> taps;
  Expr sum = f64(c, 0);
  for (int tap = -1; tap <= 2; ++tap) {
    const Expr at = base + f64(c, tap);
    Expr weight = cubicWeight(c, o.cubicA, part - f64(c, tap));
    if (o.excludeOutside) {
      weight = select(at >= f64(c, 0) && at <= castTo(highest, Dtype::f64), weight, f64(c, 0));
      sum = sum + weight;
    }
    taps.push_back({clamped(at), weight, Expr()});
  }
  if (o.excludeOutside) {
    for (LoweredTap& tap : taps) tap.weight = tap.weight / sum;
  }
  return taps;
}

// As filterTaps: a loop over the filter's window along each resized axis, whose length follows from both
// sizes.
Result<Expr> lowerFiltered(LowerContext& c, const ResizeOptions& o, std::span<const Expr> index) {
  struct Axis {
    size_t axis;
    Dim input, taps;
    Expr place, scale, first;
  };
  const Type type = c.operandType(0);
  const int64_t reach = reachOf(o);
  std::vector<Axis> axes;
  Shape extents;
  for (size_t k = 0; k < o.axes.size(); ++k) {
    Axis a;
    a.axis = static_cast<size_t>(o.axes[k]);
    a.input = type.dims()[a.axis];
    const Dim out = c.resultType(0).dims()[a.axis], one = out.context().constant(1);
    DYN_TRY(a.place, lowerPlace(c, o, k, a.input, out, index[a.axis]));
    DYN_TRY(Expr scale, scaleOf(c, o, k, a.input, out));
    a.scale = min(scale, f64(c, 1));
    a.first =
        castTo(unary(UnaryOp::ceil, a.place - f64(c, static_cast<double>(reach)) / a.scale), Dtype::i64);
    // 1 / scale <= input / output; where output is rounded up, it is less than twice that.
    const int64_t factor = o.policy == AspectPolicy::stretch ? 2 : 4;
    a.taps = max(ceilDiv(a.input * (factor * reach), max(out, one)) + 2, one * (2 * reach + 1));
    extents.push_back(a.taps);
    axes.push_back(a);
  }
  const auto tapAt = [&](const Axis& a, Expr k) {
    const Expr at = a.first + k, highest = c.dim(a.input) - 1;
    const Expr distance = (castTo(at, Dtype::f64) - a.place) * a.scale;
    Expr weight = o.mode == ResizeMode::linear ? max(f64(c, 1) - unary(UnaryOp::abs, distance), f64(c, 0))
                                               : cubicWeight(c, o.cubicA, distance);
    if (o.excludeOutside) weight = select(at >= c.integer(0) && at <= highest, weight, f64(c, 0));
    return LoweredTap{max(min(at, highest), c.integer(0)), weight, Expr()};
  };
  const Dtype dtype = type.dtype(), computed = isReal(dtype) ? accumulationDtype(dtype) : Dtype::f64;
  DYN_TRY(Expr sum, reduceOver(c, loop::ReduceOp::sum, extents, [&](std::span<const Expr> k) {
            std::vector<std::vector<LoweredTap>> along;
            for (Expr i : index) along.push_back({{i, Expr(), Expr()}});
            for (size_t i = 0; i < axes.size(); ++i) along[axes[i].axis] = {tapAt(axes[i], k[i])};
            return weightedSum(c, 0, along, computed);
          }));
  for (const Axis& a : axes) {
    const Dim one[] = {a.taps};
    DYN_TRY(Expr weights,
            reduceOver(c, loop::ReduceOp::sum, one,
                       [&](std::span<const Expr> k) -> Result<Expr> { return tapAt(a, k[0]).weight; }));
    sum = sum / castTo(weights, computed);
  }
  return castTo(sum, dtype);
}

// Is element i of an axis of unchanged size element i of the operand?
bool keepsPlaces(const ResizeOptions& o) { return !isCropped(o); }

// As sumAxisByAxis of tensors; `at` has the places along the axes behind `count`.
Result<Expr> sumAxisByAxis(LowerContext& c, const std::vector<std::vector<LoweredTap>>& along, size_t count,
                           std::vector<Expr>& at) {
  if (count == 0) {
    DYN_TRY(Expr x, c.read(0, at));
    return castTo(x, Dtype::f64);
  }
  Expr sum;
  for (const LoweredTap& tap : along[count - 1]) {
    at[count - 1] = tap.at;
    DYN_TRY(Expr part, sumAxisByAxis(c, along, count - 1, at));
    if (tap.weight) part = part * tap.weight;
    sum = sum ? sum + part : part;
  }
  return sum;
}

Result<Expr> lowerResize(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.operandType(0);
  const Dtype dtype = type.dtype(), computed = isReal(dtype) ? accumulationDtype(dtype) : Dtype::f64;
  DYN_TRY(ResizeOptions o, resizeOptions(c.op(), type.rank()));
  if (o.antialias) return lowerFiltered(c, o, index);
  std::vector<std::vector<LoweredTap>> along;
  for (Expr i : index) along.push_back({{i, Expr(), Expr()}});
  const bool bySizes = !hasScales(c);
  Expr inside;
  for (size_t k = 0; k < o.axes.size(); ++k) {
    const size_t axis = static_cast<size_t>(o.axes[k]);
    const Dim in = type.dims()[axis], out = c.resultType(0).dims()[axis];
    // An axis of the same size keeps its places (scales may differ from 1 a little and keep a constant size).
    const bool kept =
        c.solver().equal(in, out) == Answer::yes && (bySizes || !c.solver().canonical(in).isConstant());
    if (kept && keepsPlaces(o) && o.policy == AspectPolicy::stretch) continue;
    DYN_TRY(Expr place, lowerPlace(c, o, k, in, out, index[axis]));
    if (o.coordinates == Coordinates::cropAndResize) {
      const Expr here = place >= c.number(0, place.dtype()) &&
                        place <= realDim(c, in, place.dtype()) - c.number(1, place.dtype());
      inside = inside ? inside && here : here;
    }
    DYN_TRY(along[axis], lowerTaps(c, o, k, in, out, place));
  }
  const bool weighs =
      std::any_of(along.begin(), along.end(), [](const auto& taps) { return taps.size() > 1; });
  std::vector<Expr> at(along.size());
  DYN_TRY(Expr sum, weighs && !isReal(dtype) ? sumAxisByAxis(c, along, along.size(), at)
                                             : weightedSum(c, 0, along, computed));
  sum = castTo(sum, dtype);
  return inside ? select(inside, sum, castTo(f64(c, o.extrapolation), dtype)) : sum;
}

// The builtin makes tables of places and weights for each axis; regions, proportions and sums of narrower
// reals go by loops.
bool builtinResizes(const Op& op, std::span<const Type> operandTypes) {
  const Result<ResizeOptions> o = resizeOptions(op, operandTypes[0].rank());
  if (!o.ok() || operandTypes[0].rank() == 0 || o->coordinates == Coordinates::cropAndResize ||
      o->policy != AspectPolicy::stretch)
    return false;
  if (static_cast<int>(operandTypes.size()) > kScales && operandTypes[kScales].isTensor() &&
      operandTypes[kScales].dtype() != Dtype::f32)
    return false;
  const Dtype dtype = operandTypes[0].dtype();
  if (o->mode == ResizeMode::nearest) return dtype != Dtype::string && storageBytes(dtype) <= 8;
  constexpr Dtype kSummed[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::u8,  Dtype::i8,
                               Dtype::u16, Dtype::i16, Dtype::u32, Dtype::i32,  Dtype::u64, Dtype::i64};
  return std::find(std::begin(kSummed), std::end(kSummed), dtype) != std::end(kSummed);
}

Status fillResize(const BuiltinRequest& request, CallFields<calls::Resize>& call) {
  DYN_TRY(ResizeOptions o, resizeOptions(request.op, request.operandTypes[0].rank()));
  auto& n = call.numbers;
  n.mode = static_cast<int32_t>(o.mode);
  n.grid = static_cast<int32_t>(o.coordinates);
  n.rounding = static_cast<int32_t>(o.nearest);
  n.excludeOutside = o.excludeOutside;
  n.antialias = o.antialias;
  n.cubicCoefficient = static_cast<float>(o.cubicA);
  n.axes.assign(o.axes.begin(), o.axes.end());
  return {};
}

constexpr AttributeSpec kResizeAttributes[] = {
    {"mode", AttributeKind::string, false, "nearest, linear or cubic; default nearest",
     Allowed::oneOf("nearest linear cubic")},
    {"coordinate_transformation_mode", AttributeKind::string, false,
     "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, tf_crop_and_resize, "
     "tf_half_pixel_for_nn; default half_pixel",
     Allowed::oneOf("half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric "
                    "tf_crop_and_resize tf_half_pixel_for_nn")},
    {"nearest_mode", AttributeKind::string, false,
     "round_prefer_floor, round_prefer_ceil, floor, ceil, by_scale (up along an axis that shrinks, down "
     "along "
     "others); default round_prefer_floor",
     Allowed::oneOf("round_prefer_floor round_prefer_ceil floor ceil by_scale")},
    {"cubic_coeff_a", AttributeKind::real, false, "default -0.75", Allowed::any()},
    {"exclude_outside", AttributeKind::integer, false,
     "1: cubic weights outside of the input are 0; default 0", Allowed::flag()},
    {"extrapolation_value", AttributeKind::real, false,
     "outside of the region of tf_crop_and_resize; default 0", Allowed::any()},
    {"antialias", AttributeKind::integer, false,
     "1: an axis that shrinks is sampled with its filter stretched over all elements between; default 0",
     Allowed::flag()},
    {"axes", AttributeKind::integers, false, "the axes of roi, scales and sizes; default all",
     Allowed::axes()},
    {"keep_aspect_ratio_policy", AttributeKind::string, false,
     "stretch, not_larger, not_smaller; default stretch", Allowed::oneOf("stretch not_larger not_smaller")},
};

constexpr OperandRule kResizeRules[] = {{2, ElementsAre::positive}, {3, ElementsAre::byRule, "at least 0"}};

}  // namespace

namespace ops {

const OpDef resizeOp{
    .name = "resize",
    .summary = "a tensor sampled on a grid of another size",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true, .firstSizes = 1},
    .minOperands = 1,
    .maxOperands = 4,
    .attributes = kResizeAttributes,
    .infer = inferResize,
    .evaluate = evaluateResize,
    .lowering = LoweringKind::loops,
    .lower = lowerResize,
    .builtin = calling<calls::Resize, fillResize>,
    .builtinTakes = builtinResizes,
    .operandRules = kResizeRules,
    .doc =
        "x [...], roi [2*r] (tf_crop_and_resize only), scales [r] f32 constants or sizes [r] i64 -> sizes, "
        "or floor(input * scale). With both given the sizes are those of the result, and the scales (values "
        "then) say "
        "where its elements lie. "
        "Name only the axes that change: others cost taps.",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32], %s: Tensor[(2), i64]) "
        "{ %y = resize(%x, _, _, %s) {axes = [2, 3], mode = \"linear\"} return %y }",
};

}  // namespace ops
}  // namespace dyn
