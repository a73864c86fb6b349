// Operators that fold axes into one element: sums, products, extremes, norms. argmax and argmin stand in
// arg_ops.cpp.
#include <cmath>
#include <limits>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

enum class Fold : uint8_t { sum, prod, mean, max, min, l1, l2, logSum, logSumExp, sumSquare };

constexpr bool isExtreme(Fold f) { return f == Fold::max || f == Fold::min; }
// Computed in reals even for integers, and truncated.
constexpr bool isRealFold(Fold f) { return f == Fold::l2 || f == Fold::logSum || f == Fold::logSumExp; }

constexpr AttributeSpec kReduceAttributes[] = {
    {"keepdims", AttributeKind::integer, false, "1: folded axes stay with size 1; 0: they go; default 1",
     Allowed::flag()},
    {"noop_with_empty_axes", AttributeKind::integer, false,
     "1: without axes nothing is folded; 0: without axes all are; default 0", Allowed::flag()},
};

// Contents of a folded shape vector: the product of dims is a dim.
void foldContents(InferContext& c, Fold fold, const FoldedAxes& folded) {
  if (folded.rank() != 1 || folded.count() != 1) return;
  if (c.operandType(0).dims()[0].isConstant(0)) {  // the dims before axis 0, say
    if (fold == Fold::prod) c.setResultContents(0, {constantDim(c, 1)});
    if (fold == Fold::sum) c.setResultContents(0, {constantDim(c, 0)});
    return;
  }
  std::optional<Contents> contents = c.operandContents(0);
  if (!contents || contents->empty()) return;
  Dim result;
  for (Dim d : *contents) {
    if (!d) return;
    if (!result) {
      result = d;
      continue;
    }
    switch (fold) {
      case Fold::sum:
        result = result + d;
        break;
      case Fold::prod:
        result = result * d;
        break;
      case Fold::max:
        result = max(result, d);
        break;
      case Fold::min:
        result = min(result, d);
        break;
      default:
        return;
    }
  }
  c.setResultContents(0, {result});
}

template <Fold fold>
Status inferReduce(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  if (isExtreme(fold)) {
    DYN_CHECK(requireClass(c, x,
                           {DtypeClass::real, DtypeClass::integer, DtypeClass::natural, DtypeClass::boolean},
                           "the operand"));
  } else {
    DYN_CHECK(
        requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  }
  DYN_TRY(FoldedAxes folded, foldedAxes(c));
  if (folded.areValues) {
    DYN_TRY(Shape dims, shapeFoldedByValues(c, x.dims));
    setTensor(c, std::move(dims), x.dtype);
    return {};
  }
  setTensor(c, foldedShape(c, folded, x.dims), x.dtype);
  if ((fold == Fold::sum || fold == Fold::prod || isExtreme(fold)) && isInteger(x.dtype))
    foldContents(c, fold, folded);
  return {};
}

double combineReal(Fold fold, double a, double x) {
  switch (fold) {
    case Fold::prod:
      return a * x;
    case Fold::max:
      return std::isnan(a) || std::isnan(x) ? a + x : (x > a ? x : a);
    case Fold::min:
      return std::isnan(a) || std::isnan(x) ? a + x : (x < a ? x : a);
    case Fold::l1:
      return a + std::fabs(x);
    case Fold::l2:
    case Fold::sumSquare:
      return a + x * x;
    default:
      return a + x;
  }
}

Status evaluateReal(EvalContext& c, Fold fold, const FoldedAxes& folded) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), foldedShape(folded, x.shape())));
  const double infinity = std::numeric_limits<double>::infinity();
  const double neutral = fold == Fold::prod  ? 1
                         : fold == Fold::max ? -infinity
                         : fold == Fold::min ? infinity
                                             : 0;
  const size_t count = static_cast<size_t>(result.elementCount());
  std::vector<double> sums(count, neutral), peaks;
  std::vector<int64_t> counts(count, 0);
  const std::vector<int64_t> strides = foldedStrides(folded, x.shape());
  const auto forEach = [&](auto take) {
    const float* floats = x.dtype() == Dtype::f32 ? x.as<float>() : nullptr;
    for (RowWalk row(x.shape(), {strides}); !row.done(); row.next())
      for (int64_t j = 0; j < row.count(); ++j) {
        const int64_t i = row.first() + j;
        take(static_cast<size_t>(row.offset(0) + j * row.step(0)), floats ? floats[i] : x.realAt(i));
      }
  };
  if (fold == Fold::logSumExp) {
    peaks.assign(count, -infinity);
    forEach([&](size_t at, double value) { peaks[at] = combineReal(Fold::max, peaks[at], value); });
    for (double& peak : peaks) peak = std::isfinite(peak) ? peak : 0;
  }
  forEach([&](size_t at, double value) {
    sums[at] = combineReal(fold, sums[at], fold == Fold::logSumExp ? std::exp(value - peaks[at]) : value);
    ++counts[at];
  });
  for (size_t at = 0; at < count; ++at) {
    double value = sums[at];
    if (fold == Fold::mean) value /= static_cast<double>(counts[at]);
    if (fold == Fold::l2) value = std::sqrt(value);
    if (fold == Fold::logSum) value = std::log(value);
    if (fold == Fold::logSumExp) value = std::log(value) + peaks[at];
    if (isReal(result.dtype()))
      result.setReal(static_cast<int64_t>(at), value);
    else
      setTruncated(result, static_cast<int64_t>(at), value);
  }
  c.setResult(0, std::move(result));
  return {};
}

int64_t integerNeutral(Fold fold, Dtype dtype) {
  if (fold == Fold::prod) return 1;
  if (!isExtreme(fold)) return 0;
  const bool isSignedType = isSigned(dtype);
  if (dtype == Dtype::boolean) return fold == Fold::min ? 1 : 0;
  int bits = static_cast<int>(storageBytes(dtype)) * 8;
  if (dtype == Dtype::i4 || dtype == Dtype::u4) bits = 4;
  if (dtype == Dtype::i2 || dtype == Dtype::u2) bits = 2;
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (isSignedType) {
    const int64_t highest = static_cast<int64_t>(all >> 1);
    return fold == Fold::min ? highest : -highest - 1;
  }
  return fold == Fold::min ? static_cast<int64_t>(all) : 0;
}

int64_t combineInteger(Fold fold, bool isSignedType, int64_t a, int64_t x) {
  const uint64_t ua = static_cast<uint64_t>(a), ux = static_cast<uint64_t>(x);
  const bool less = isSignedType ? a < x : ua < ux;
  switch (fold) {
    case Fold::prod:
      return static_cast<int64_t>(ua * ux);
    case Fold::max:
      return less ? x : a;
    case Fold::min:
      return less ? a : x;
    case Fold::l1:
      return static_cast<int64_t>(ua + (isSignedType && x < 0 ? 0 - ux : ux));
    case Fold::sumSquare:
      return static_cast<int64_t>(ua + ux * ux);
    default:
      return static_cast<int64_t>(ua + ux);
  }
}

Status evaluateInteger(EvalContext& c, Fold fold, const FoldedAxes& folded) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), foldedShape(folded, x.shape())));
  const size_t count = static_cast<size_t>(result.elementCount());
  std::vector<int64_t> sums(count, integerNeutral(fold, x.dtype())), counts(count, 0);
  OffsetWalk walk(x.shape(), {foldedStrides(folded, x.shape())});
  for (int64_t i = 0; i < x.elementCount(); ++i, walk.next()) {
    const size_t at = static_cast<size_t>(walk.offset(0));
    sums[at] = combineInteger(fold, isSigned(x.dtype()), sums[at], x.intAt(i));
    ++counts[at];
  }
  for (size_t at = 0; at < count; ++at) {
    // As the kernel: in 64 bits, toward zero; of no integers 0.
    if (fold == Fold::mean && counts[at] != 0) sums[at] /= counts[at];
    result.setInt(static_cast<int64_t>(at), sums[at]);
  }
  c.setResult(0, std::move(result));
  return {};
}

template <Fold fold>
Status evaluateReduce(EvalContext& c) {
  DYN_TRY(FoldedAxes folded, foldedAxes(c));
  if (isReal(c.operand(0).dtype()) || isRealFold(fold)) return evaluateReal(c, fold, folded);
  return evaluateInteger(c, fold, folded);
}

// The largest element, or 0 where it is not finite: what exponents are shifted by.
Result<Expr> finitePeak(LowerContext& c, const FoldedAxes& folded, std::span<const Expr> index, Dtype dtype) {
  DYN_TRY(Expr peak, foldAxes(c, ReduceOp::maximum, folded, index,
                              [&](Expr x, std::span<const Expr>) { return castTo(x, dtype); }));
  const Expr unusable = unary(loop::UnaryOp::isNan, peak) || unary(loop::UnaryOp::isInf, peak);
  return select(unusable, c.number(0, dtype), peak);
}

template <Fold fold>
Result<Expr> lowerReduce(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(FoldedAxes folded, foldedAxes(c));
  const Dtype dtype = c.resultType(0).dtype();
  if (dtype == Dtype::boolean) {
    return foldAxes(c, fold == Fold::max ? ReduceOp::logicalOr : ReduceOp::logicalAnd, folded, index,
                    [](Expr x, std::span<const Expr>) { return x; });
  }
  Dtype computed = accumulationDtype(dtype);
  if (!isReal(dtype) && isRealFold(fold)) computed = Dtype::f64;
  if (!isReal(dtype) && fold == Fold::mean) computed = Dtype::i64;
  Expr peak;
  if (fold == Fold::logSumExp) {
    DYN_TRY(peak, finitePeak(c, folded, index, computed));
  }
  const ReduceOp op = fold == Fold::prod  ? ReduceOp::product
                      : fold == Fold::max ? ReduceOp::maximum
                      : fold == Fold::min ? ReduceOp::minimum
                                          : ReduceOp::sum;
  DYN_TRY(Expr value, foldAxes(c, op, folded, index, [&](Expr x, std::span<const Expr>) -> Expr {
            x = castTo(x, computed);
            if (fold == Fold::l1)
              return isReal(computed) || isSigned(computed) ? unary(loop::UnaryOp::abs, x) : x;
            if (fold == Fold::l2 || fold == Fold::sumSquare) return x * x;
            if (fold == Fold::logSumExp) return exponential(x - peak);
            return x;
          }));
  if (fold == Fold::mean) {
    const Expr count = castTo(foldedCount(c, folded), computed);
    // Of no integers the sum, 0; of no reals 0/0.
    value = value / (isReal(computed) ? count : max(count, c.number(1, computed)));
  }
  if (fold == Fold::l2) value = squareRoot(value);
  if (fold == Fold::logSum) value = logarithm(value);
  if (fold == Fold::logSumExp) value = logarithm(value) + peak;
  return castTo(value, dtype);
}

constexpr OperandRule kReduceRules[] = {{1, ElementsAre::byRule, "axes of operand 0, none twice"}};

template <Fold fold>
constexpr OpDef reduceRow(std::string_view name, std::string_view summary, std::string_view example) {
  OpDef row;
  row.name = name;
  row.summary = summary;
  row.cls = OpClass::reduction;
  row.minOperands = 1;
  row.maxOperands = 2;
  row.attributes = kReduceAttributes;
  row.infer = inferReduce<fold>;
  row.evaluate = evaluateReduce<fold>;
  row.lowering = LoweringKind::loops;
  row.lower = lowerReduce<fold>;
  row.operandRules = kReduceRules;
  row.doc =
      "x [..., a, ...], axes [r] i64 -> [..., 1, ...], or without the folded axes when keepdims is 0 (the "
      "axes "
      "are constants then). "
      "No axes: all of them. Narrow reals are summed in f32, integers wrap; no elements give the neutral "
      "element.";
  row.example = example;
  return row;
}

}  // namespace

namespace ops {

#define DYN_REDUCE_EXAMPLE(name) \
  "fn @main(%x: Tensor[(n, 3), f32]) { %y = " name "(%x) {keepdims = 0} return %y }"

constexpr OpDef reduce_sumOp =
    reduceRow<Fold::sum>("reduce_sum", "the sum over axes", DYN_REDUCE_EXAMPLE("reduce_sum"));
constexpr OpDef reduce_prodOp =
    reduceRow<Fold::prod>("reduce_prod", "the product over axes", DYN_REDUCE_EXAMPLE("reduce_prod"));
constexpr OpDef reduce_meanOp = reduceRow<Fold::mean>(
    "reduce_mean", "the mean over axes; of integers, truncated", DYN_REDUCE_EXAMPLE("reduce_mean"));
constexpr OpDef reduce_maxOp = reduceRow<Fold::max>(
    "reduce_max", "the largest element over axes; NaN if there is one", DYN_REDUCE_EXAMPLE("reduce_max"));
constexpr OpDef reduce_minOp = reduceRow<Fold::min>(
    "reduce_min", "the smallest element over axes; NaN if there is one", DYN_REDUCE_EXAMPLE("reduce_min"));
constexpr OpDef reduce_l1Op =
    reduceRow<Fold::l1>("reduce_l1", "the sum of absolute values over axes", DYN_REDUCE_EXAMPLE("reduce_l1"));
constexpr OpDef reduce_l2Op = reduceRow<Fold::l2>("reduce_l2", "the root of the sum of squares over axes",
                                                  DYN_REDUCE_EXAMPLE("reduce_l2"));
constexpr OpDef reduce_log_sumOp = reduceRow<Fold::logSum>(
    "reduce_log_sum", "the logarithm of the sum over axes", DYN_REDUCE_EXAMPLE("reduce_log_sum"));
constexpr OpDef reduce_log_sum_expOp =
    reduceRow<Fold::logSumExp>("reduce_log_sum_exp", "log(sum(exp(x))) over axes, without overflow",
                               DYN_REDUCE_EXAMPLE("reduce_log_sum_exp"));
constexpr OpDef reduce_sum_squareOp = reduceRow<Fold::sumSquare>(
    "reduce_sum_square", "the sum of squares over axes", DYN_REDUCE_EXAMPLE("reduce_sum_square"));

}  // namespace ops
}  // namespace dyn
