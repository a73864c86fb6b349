// Pools: the largest, mean or norm of each window of [n, channels, spatial...].
#include <cmath>
#include <limits>

#include "compiler/loop/scalar_math.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "compiler/ops/rules/window_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

enum class Pool : uint8_t { max, average, norm };

Status inferPool(InferContext& c, Pool pool) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  if (x.rank() < 3)
    return c.error(DiagnosticId::rankMismatch,
                   "it needs [n, channels, spatial...], not " + x.type.toString());
  if (pool == Pool::max) {
    DYN_CHECK(
        requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  } else {
    DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  }
  x.dims = asPlanes<Dim>(c.op(), x.dims);
  DYN_TRY(Window window, windowOf(c.op(), x.rank() - 2));
  DYN_TRY(std::vector<int64_t> sizes, kernelShape(c.op(), x.rank() - 2));
  Shape kernel, shape{x.dims[0], x.dims[1]};
  for (int64_t size : sizes) kernel.push_back(constantDim(c, size));
  const std::vector<WindowAxis> axes = windowAxes(window, x.dims, kernel);
  DYN_CHECK(requireWindowFits(c, window, axes));
  for (const WindowAxis& a : axes) shape.push_back(a.output);
  shape = asLaid<Dim>(c.op(), shape);
  setTensor(c, shape, x.dtype);
  if (pool != Pool::max) return {};
  const size_t results = c.op().results.size();
  if (results < 1 || results > 2)
    return c.error(DiagnosticId::badOperands, "it has 1 or 2 results: values, indices");
  if (results == 2 && makesChannelsLast(c.op()))
    return c.error(DiagnosticId::badAttribute,
                   "indices count places of planes: the channels cannot come last");
  if (results == 2) setTensor(c, shape, Dtype::i64, 1);
  return {};
}

// Strides of the places that `indices` counts: row-major over the whole tensor, or spatial axes in
// column-major order.
template <typename Size>
std::vector<Size> placeStrides(const std::vector<Size>& shape, Size one, bool columnMajor) {
  std::vector<Size> strides(shape.size(), one);
  Size space = one;
  for (size_t i = shape.size(); i-- > 2;) {
    strides[i] = space;
    space = space * shape[i];
  }
  if (columnMajor) {
    Size step = one;
    for (size_t i = 2; i < shape.size(); ++i) {
      strides[i] = step;
      step = step * shape[i];
    }
  }
  strides[1] = space;
  strides[0] = space * shape[1];
  return strides;
}

// What one window holds.
struct WindowFold {
  Pool pool;
  int64_t p;
  double value = 0;
  int64_t integer = 0;  // the largest one: f64 does not hold all of 64 bits
  int64_t place = 0, count = 0;
  bool any = false;

  void add(const HostTensor& x, int64_t from, int64_t at) {
    if (isReal(x.dtype()))
      addReal(x.realAt(from), at);
    else
      addInteger(x.intAt(from), isSigned(x.dtype()), at);
    any = true;
  }
  double result() const {
    if (pool == Pool::average) return value / static_cast<double>(count);
    if (pool == Pool::norm) return std::pow(value, 1.0 / static_cast<double>(p));
    return any ? value : -std::numeric_limits<double>::infinity();
  }

 private:
  void addReal(double x, int64_t at) {
    if (pool == Pool::average) value += x;
    if (pool == Pool::norm) value += std::pow(std::fabs(x), static_cast<double>(p));
    if (pool == Pool::max && (!any || x > value || (std::isnan(x) && !std::isnan(value)))) {
      value = x;
      place = at;
    }
  }
  // Only the largest is taken of integers.
  void addInteger(int64_t x, bool isSignedType, int64_t at) {
    if (any && !(isSignedType ? x > integer : loop::asNatural(x) > loop::asNatural(integer))) return;
    integer = x;
    place = at;
  }
};

Status evaluatePool(EvalContext& c, Pool pool) {
  DYN_TRY(const HostTensor x, asPlanes(c.op(), c.operand(0)));
  DYN_TRY(Window window, windowOf(c.op(), x.rank() - 2));
  DYN_TRY(std::vector<int64_t> kernel, kernelShape(c.op(), x.rank() - 2));
  DYN_TRY(std::vector<ConcreteAxis> axes, concreteWindow(c, window, x.shape(), kernel));
  const bool includePads = c.attributes().integer("count_include_pad", 0) != 0;
  std::vector<int64_t> shape{x.shape()[0], x.shape()[1]};
  for (const ConcreteAxis& a : axes) shape.push_back(a.output);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  DYN_TRY(HostTensor places, newTensor(Dtype::i64, shape));
  const std::vector<int64_t> steps = rowMajorStrides(x.shape());
  const std::vector<int64_t> placeSteps =
      placeStrides<int64_t>(x.shape(), 1, c.attributes().integer("storage_order", 0) != 0);
  const int64_t taps = sizeProduct(kernel, 0, static_cast<int>(kernel.size()));
  OffsetWalk output(shape, {});
  for (int64_t flat = 0; flat < result.elementCount(); ++flat, output.next()) {
    WindowFold fold{pool, c.attributes().integer("p", 2)};
    OffsetWalk tap(kernel, {});
    for (int64_t k = 0; k < taps; ++k, tap.next()) {
      const std::vector<int64_t>& o = output.index();
      int64_t at = o[0] * steps[0] + o[1] * steps[1], place = o[0] * placeSteps[0] + o[1] * placeSteps[1];
      bool inside = true, insidePadded = true;
      for (size_t i = 0; i < axes.size(); ++i) {
        const int64_t position = axes[i].at(o[i + 2], tap.index()[i]);
        inside = inside && position >= 0 && position < axes[i].input;
        insidePadded = insidePadded && position < axes[i].input + axes[i].padEnd;
        at += position * steps[i + 2];
        place += position * placeSteps[i + 2];
      }
      fold.count += includePads ? insidePadded : inside;
      if (inside) fold.add(x, at, place);
    }
    if (isReal(x.dtype())) {
      result.setReal(flat, fold.result());
    } else {
      result.setInt(flat, fold.any ? fold.integer : loop::integerLowest(x.dtype()));
    }
    places.setInt(flat, fold.place);
  }
  DYN_TRY(HostTensor laid, asLaid(c.op(), result));
  c.setResult(0, std::move(laid));
  if (c.op().results.size() == 2) c.setResult(1, std::move(places));
  return {};
}

Expr lowest(LowerContext& c, Dtype dtype) {
  if (isReal(dtype)) return c.loops().real(-std::numeric_limits<double>::infinity(), dtype);
  return c.loops().integer(loop::integerLowest(dtype), dtype);
}

// What the lowerings share: the window and reads through it.
struct LoweredPool {
  std::vector<WindowAxis> axes;
  Shape kernel;
  Dtype computed = Dtype::f32;

  // Folds map(element, place); `outside` stands for what lies outside of the input.
  Result<Expr> fold(LowerContext& c, ReduceOp op, std::span<const Expr> index, Expr outside,
                    const std::function<Expr(Expr, std::span<const Expr>)>& map) const {
    return reduceOver(c, op, kernel, [&](std::span<const Expr> k) -> Result<Expr> {
      WindowPlace place = windowPlace(c, axes, index.subspan(2), k);
      std::vector<Expr> at{index[0], index[1]};
      at.insert(at.end(), place.at.begin(), place.at.end());
      DYN_TRY(Expr x, c.read(0, asLaid<Expr>(c.op(), at)));
      return guarded(place.inside, map(castTo(x, computed), at), outside);
    });
  }
};

Result<LoweredPool> loweredPool(LowerContext& c) {
  LoweredPool pool;
  const Type type = c.operandType(0);
  DYN_TRY(Window window, windowOf(c.op(), type.rank() - 2));
  DYN_TRY(std::vector<int64_t> sizes, kernelShape(c.op(), type.rank() - 2));
  for (int64_t size : sizes) pool.kernel.push_back(c.solver().context().constant(size));
  pool.axes = windowAxes(window, asPlanes<Dim>(c.op(), type.dims()), pool.kernel);
  pool.computed = accumulationDtype(type.dtype());
  return pool;
}

Result<Expr> lowerMaxPool(LowerContext& c, int result, std::span<const Expr> laid) {
  const std::vector<Expr> index = asPlanes<Expr>(c.op(), laid);
  DYN_TRY(LoweredPool pool, loweredPool(c));
  const Type type = c.operandType(0);
  if (!isReal(type.dtype())) pool.computed = type.dtype();
  DYN_TRY(Expr best, pool.fold(c, ReduceOp::maximum, index, lowest(c, pool.computed),
                               [](Expr x, std::span<const Expr>) { return x; }));
  if (result == 0) return castTo(best, type.dtype());
  // The first place, by row-major order of the window, that holds the largest element: places of column-major
  // storage do not grow with it, so the window's order is found first.
  std::vector<Expr> shape;
  for (Dim d : type.dims()) shape.push_back(c.dim(d));
  const std::vector<Expr> rowSteps = placeStrides<Expr>(shape, c.integer(1), false);
  const Expr nowhere = c.loops().integer(INT64_MAX);
  DYN_TRY(Expr place, pool.fold(c, ReduceOp::minimum, index, nowhere, [&](Expr x, std::span<const Expr> at) {
    Expr flat = c.integer(0);
    for (size_t i = 0; i < at.size(); ++i) flat = flat + at[i] * rowSteps[i];
    return select(x == best || isNotANumber(x), flat, nowhere);
  }));
  if (c.attributes().integer("storage_order", 0) == 0) return place;
  const std::vector<Expr> steps = placeStrides<Expr>(shape, c.integer(1), true);
  Expr turned = c.integer(0);
  for (size_t i = 0; i < shape.size(); ++i)
    turned = turned + mod(floorDiv(place, rowSteps[i]), shape[i]) * steps[i];
  return turned;
}

// How many elements the mean is over.
Result<Expr> averageCount(LowerContext& c, const LoweredPool& pool, std::span<const Expr> index) {
  const bool includePads = c.attributes().integer("count_include_pad", 0) != 0;
  const bool ceilMode = c.attributes().integer("ceil_mode", 0) != 0;
  bool mayLeave = false;
  for (const WindowAxis& a : pool.axes) mayLeave |= includePads ? ceilMode : a.mayLeaveInput;
  Expr count = c.integer(1);
  if (!mayLeave) {
    for (Dim d : pool.kernel) count = count * c.dim(d);
    return count;
  }
  // Axis by axis: the taps that lie inside.
  for (size_t i = 0; i < pool.axes.size(); ++i) {
    const WindowAxis& a = pool.axes[i];
    const Dim extents[] = {pool.kernel[i]};
    DYN_TRY(Expr taps, reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
              const Expr at = index[i + 2] * a.stride + k[0] * a.dilation - c.dim(a.padBegin);
              const Expr inside =
                  includePads ? at < c.dim(a.input + a.padEnd) : at >= c.integer(0) && at < c.dim(a.input);
              return select(inside, c.integer(1), c.integer(0));
            }));
    count = count * taps;
  }
  return count;
}

Result<Expr> lowerAveragePool(LowerContext& c, int, std::span<const Expr> laid) {
  const std::vector<Expr> index = asPlanes<Expr>(c.op(), laid);
  DYN_TRY(LoweredPool pool, loweredPool(c));
  DYN_TRY(Expr sum, pool.fold(c, ReduceOp::sum, index, c.number(0, pool.computed),
                              [](Expr x, std::span<const Expr>) { return x; }));
  DYN_TRY(Expr count, averageCount(c, pool, index));
  return castTo(sum / castTo(count, pool.computed), c.resultType(0).dtype());
}

Result<Expr> lowerNormPool(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(LoweredPool pool, loweredPool(c));
  const int64_t p = c.attributes().integer("p", 2);
  const Expr power = c.number(static_cast<double>(p), pool.computed);
  DYN_TRY(Expr sum,
          pool.fold(c, ReduceOp::sum, index, c.number(0, pool.computed), [&](Expr x, std::span<const Expr>) {
            if (p == 2) return x * x;
            const Expr size = unary(loop::UnaryOp::abs, x);
            return p == 1 ? size : c.loops().binary(loop::BinaryOp::pow, size, power);
          }));
  Expr root = sum;
  if (p == 2) root = squareRoot(sum);
  if (p != 1 && p != 2)
    root = c.loops().binary(loop::BinaryOp::pow, sum, c.number(1.0 / static_cast<double>(p), pool.computed));
  return castTo(root, c.resultType(0).dtype());
}

Status inferNormPool(InferContext& c) {
  if (c.attributes().integer("p", 2) < 1) return c.error(DiagnosticId::badAttribute, "p is at least 1");
  return inferPool(c, Pool::norm);
}

// The builtin: f32, up to three spatial axes, no places.
bool builtinPoolTakes(const Op& op, std::span<const Type> types) {
  if (op.results.size() != 1 || !types[0].isTensor() || types[0].rank() > 5) return false;
  const Dtype dtype = types[0].dtype();
  return dtype == Dtype::f32 || ((dtype == Dtype::u8 || dtype == Dtype::i8) && makesChannelsLast(op));
}

enum class PoolMode : int32_t {
  maximum = DYN_POOL_LARGEST,
  mean = DYN_POOL_MEAN,
  meanWithPads = DYN_POOL_MEAN_WITH_PADS
};

Status fillPool(const BuiltinRequest& request, PoolMode mode, CallFields<calls::Pool>& call) {
  const Op& op = request.op;
  const Shape x = asPlanes<Dim>(op, request.operandTypes[0].dims());
  const int rank = static_cast<int>(x.size()) - 2;
  DYN_TRY(Window window, windowOf(op, rank));
  DYN_TRY(std::vector<int64_t> sizes, kernelShape(op, rank));
  for (const std::vector<int64_t>* list : {&sizes, &window.strides, &window.dilations})
    for (int64_t n : *list)
      if (n > INT32_MAX)
        return makeError(DiagnosticId::badAttribute, "a window's size, stride or dilation is above 2^31",
                         op.place);
  call.numbers.axes = rank;
  call.numbers.kind = LaidNumber{static_cast<int32_t>(mode), layoutOf(op)}.joined();
  call.numbers.window = numbersOf(sizes);
  call.numbers.strides = numbersOf(window.strides);
  call.numbers.dilations = numbersOf(window.dilations);
  Shape kernel;
  for (int64_t size : sizes) kernel.push_back(x[0].context().constant(size));
  const std::vector<WindowAxis> axes = windowAxes(window, x, kernel);
  for (const WindowAxis& a : axes) {
    call.scalars.pads.push_back(a.padBegin);
    call.scalars.padsBehind.push_back(a.padEnd);
  }
  return {};
}

Status fillMaxPool(const BuiltinRequest& request, CallFields<calls::Pool>& call) {
  return fillPool(request, PoolMode::maximum, call);
}

Status fillAveragePool(const BuiltinRequest& request, CallFields<calls::Pool>& call) {
  const bool pads = request.op.attributes.integer("count_include_pad", 0) != 0;
  return fillPool(request, pads ? PoolMode::meanWithPads : PoolMode::mean, call);
}

#define DYN_WINDOW_ATTRIBUTES                                                                                \
  {"kernel_shape", AttributeKind::integers, true, "size of the window per spatial axis",                     \
   Allowed::atLeast(1)},                                                                                     \
      {"strides", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)},   \
      {"dilations", AttributeKind::integers, false, "one per spatial axis; default 1", Allowed::atLeast(1)}, \
      {"pads", AttributeKind::integers, false, "[begin..., end...]; default 0",                              \
       Allowed::byRule("begin of each spatial axis, then end of each")},                                     \
      {"auto_pad", AttributeKind::string, false,                                                             \
       "NOTSET (pads), VALID, SAME_UPPER or SAME_LOWER; default NOTSET",                                     \
       Allowed::oneOf("NOTSET VALID SAME_UPPER SAME_LOWER")},                                                \
  {                                                                                                          \
    "ceil_mode", AttributeKind::integer, false, "1: the number of windows is rounded up; default 0",         \
        Allowed::flag()                                                                                      \
  }

constexpr AttributeSpec kMaxAttributes[] = {
    DYN_WINDOW_ATTRIBUTES,
    DYN_LAYOUT_ATTRIBUTE,
    DYN_SLICE_ATTRIBUTE,
    {"storage_order", AttributeKind::integer, false,
     "1: indices count spatial axes in column-major order; default 0", Allowed::flag()},
};
constexpr AttributeSpec kAverageAttributes[] = {
    DYN_WINDOW_ATTRIBUTES,
    DYN_LAYOUT_ATTRIBUTE,
    DYN_SLICE_ATTRIBUTE,
    {"count_include_pad", AttributeKind::integer, false, "1: padding counts in the mean; default 0",
     Allowed::flag()},
};
constexpr AttributeSpec kNormAttributes[] = {
    DYN_WINDOW_ATTRIBUTES,
    {"p", AttributeKind::integer, false, "order of the norm; default 2", Allowed::atLeast(1)},
};

}  // namespace

namespace ops {

const OpDef max_poolOp{
    .name = "max_pool",
    .summary = "the largest element of each window, and its place when asked",
    .cls = OpClass::reduction,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 1,
    .results = -1,
    .attributes = kMaxAttributes,
    .infer = [](InferContext& c) { return inferPool(c, Pool::max); },
    .evaluate = [](EvalContext& c) { return evaluatePool(c, Pool::max); },
    .lowering = LoweringKind::loops,
    .lower = lowerMaxPool,
    .builtin = calling<calls::Pool, fillMaxPool>,
    .builtinTakes = builtinPoolTakes,
    .operandRules = kAnyElements,
    .doc =
        "[n, c, s...] -> [n, c, o...] (or with channels last), o = floordiv(s + pads - (k-1)*dilation - 1, "
        "stride) + 1; indices i64 "
        "of the same shape",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32]) { %y = max_pool(%x) {kernel_shape = [2, 2], strides = [2, "
        "2]} return %y }",
};

const OpDef average_poolOp{
    .name = "average_pool",
    .summary = "the mean of each window",
    .cls = OpClass::reduction,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kAverageAttributes,
    .infer = [](InferContext& c) { return inferPool(c, Pool::average); },
    .evaluate = [](EvalContext& c) { return evaluatePool(c, Pool::average); },
    .lowering = LoweringKind::loops,
    .lower = lowerAveragePool,
    .builtin = calling<calls::Pool, fillAveragePool>,
    .builtinTakes = builtinPoolTakes,
    .operandRules = kAnyElements,
    .doc = "[n, c, s...] -> [n, c, o...]",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32]) { %y = average_pool(%x) {kernel_shape = [3, 3], pads = [1, "
        "1, 1, 1]} return %y }",
};

const OpDef lp_poolOp{
    .name = "lp_pool",
    .summary = "the norm of each window",
    .cls = OpClass::reduction,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kNormAttributes,
    .infer = inferNormPool,
    .evaluate = [](EvalContext& c) { return evaluatePool(c, Pool::norm); },
    .lowering = LoweringKind::loops,
    .lower = lowerNormPool,
    .operandRules = kAnyElements,
    .doc = "[n, c, s...] -> [n, c, o...]",
    .example =
        "fn @main(%x: Tensor[(n, 3, h, w), f32]) { %y = lp_pool(%x) {kernel_shape = [2, 2], p = 1} return %y "
        "}",
};

}  // namespace ops
}  // namespace dyn
