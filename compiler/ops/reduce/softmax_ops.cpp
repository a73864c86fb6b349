// softmax and its kin, and normalisation by a norm along one axis.
#include <cmath>
#include <limits>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

enum class Along : uint8_t { softmax, logSoftmax, hardmax, lpNorm };

constexpr AttributeSpec kAxisAttributes[] = {
    {"axis", AttributeKind::integer, false, "default -1, the last axis", Allowed::axis()},
};
constexpr AttributeSpec kLpAttributes[] = {
    {"axis", AttributeKind::integer, false, "default -1, the last axis", Allowed::axis()},
    {"p", AttributeKind::integer, false, "1 or 2, the order of the norm; default 2", Allowed::between(1, 2)},
};

template <Along kind>
Status inferAlong(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  DYN_CHECK(axisOf(c, c.attributes().integer("axis", -1), x.rank()));
  if (kind == Along::lpNorm) {
    const int64_t p = c.attributes().integer("p", 2);
    if (p != 1 && p != 2) return c.error(DiagnosticId::badAttribute, "p is 1 or 2, not " + std::to_string(p));
  }
  c.setResult(0, x.type);
  return {};
}

// One line of elements along the axis, in place.
void alongLine(Along kind, int64_t p, std::vector<double>& line) {
  double peak = -std::numeric_limits<double>::infinity();
  size_t best = 0;
  for (size_t k = 0; k < line.size(); ++k) {
    if (std::isnan(line[k]) && !std::isnan(peak)) best = k, peak = line[k];
    if (line[k] > peak) best = k, peak = line[k];
  }
  double sum = 0;
  if (kind == Along::lpNorm) {
    for (double x : line) sum += p == 1 ? std::fabs(x) : x * x;
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (double& x : line) x = norm == 0 ? 0 : x / norm;
    return;
  }
  for (double x : line) sum += std::exp(x - peak);
  for (size_t k = 0; k < line.size(); ++k) {
    if (kind == Along::softmax) line[k] = std::exp(line[k] - peak) / sum;
    if (kind == Along::logSoftmax) line[k] = line[k] - peak - std::log(sum);
    if (kind == Along::hardmax) line[k] = k == best ? 1 : 0;
  }
}

template <Along kind>
Status evaluateAlong(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -1), x.rank()));
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  const int64_t length = x.shape()[static_cast<size_t>(axis)];
  const int64_t inner = sizeProduct(x.shape(), axis + 1, x.rank()), outer = sizeProduct(x.shape(), 0, axis);
  std::vector<double> line(static_cast<size_t>(length));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t start = o * length * inner + i;
      for (int64_t k = 0; k < length; ++k) line[static_cast<size_t>(k)] = x.realAt(start + k * inner);
      alongLine(kind, c.attributes().integer("p", 2), line);
      for (int64_t k = 0; k < length; ++k) result.setReal(start + k * inner, line[static_cast<size_t>(k)]);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerLpNorm(LowerContext& c, const FoldedAxes& folded, std::span<const Expr> index, Expr x,
                         Dtype computed) {
  const bool absolute = c.attributes().integer("p", 2) == 1;
  DYN_TRY(Expr sum, foldRow(c, ReduceOp::sum, folded, index, [&](Expr e, std::span<const Expr>) {
            e = castTo(e, computed);
            return absolute ? unary(loop::UnaryOp::abs, e) : e * e;
          }));
  const Expr norm = absolute ? sum : squareRoot(sum), zero = c.number(0, computed);
  return select(norm == zero, zero, x / norm);
}

template <Along kind>
Result<Expr> lowerAlong(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.operandType(0);
  int axis = static_cast<int>(c.attributes().integer("axis", -1));
  if (axis < 0) axis += type.rank();
  const FoldedAxes folded = foldOnly(type.rank(), std::vector<int>{axis}, true);
  const Dtype computed = accumulationDtype(type.dtype());
  DYN_TRY(Expr x, c.read(0, index));
  x = castTo(x, computed);
  if (kind == Along::lpNorm) {
    DYN_TRY(Expr result, lowerLpNorm(c, folded, index, x, computed));
    return castTo(result, type.dtype());
  }
  DYN_TRY(Expr peak, foldRow(c, ReduceOp::maximum, folded, index,
                             [&](Expr e, std::span<const Expr>) { return castTo(e, computed); }));
  if (kind == Along::hardmax) {
    const Expr length = c.dim(type.dims()[static_cast<size_t>(axis)]);
    DYN_TRY(Expr place, foldRow(c, ReduceOp::minimum, folded, index, [&](Expr e, std::span<const Expr> at) {
              return select(castTo(e, computed) == peak || isNotANumber(e), at[static_cast<size_t>(axis)],
                            length);
            }));
    return select(index[static_cast<size_t>(axis)] == place, c.number(1, type.dtype()),
                  c.number(0, type.dtype()));
  }
  DYN_TRY(Expr sum, foldRow(c, ReduceOp::sum, folded, index, [&](Expr e, std::span<const Expr>) {
            return exponential(castTo(e, computed) - peak);
          }));
  // One division a row: the sum is at least 1, as the peak's own term is.
  const Expr result = kind == Along::softmax ? exponential(x - peak) * (c.number(1, computed) / sum)
                                             : x - peak - logarithm(sum);
  return castTo(result, type.dtype());
}

template <Along kind>
constexpr OpDef alongRow(std::string_view name, std::string_view summary, std::string_view example) {
  OpDef row;
  row.name = name;
  row.summary = summary;
  row.cls = OpClass::reduction;
  row.minOperands = 1;
  row.maxOperands = 1;
  row.attributes = kAxisAttributes;
  if (kind == Along::lpNorm) row.attributes = kLpAttributes;
  row.infer = inferAlong<kind>;
  row.evaluate = evaluateAlong<kind>;
  row.lowering = LoweringKind::loops;
  row.lower = lowerAlong<kind>;
  row.operandRules = kAnyElements;
  row.doc = "[..., a, ...] -> [..., a, ...], every line along the axis on its own";
  row.example = example;
  return row;
}

}  // namespace

namespace ops {

constexpr OpDef softmaxOp =
    alongRow<Along::softmax>("softmax", "exp(x) / sum(exp(x)) along an axis, without overflow",
                             "fn @main(%x: Tensor[(n, m), f32]) { %y = softmax(%x) {axis = -1} return %y }");
constexpr OpDef log_softmaxOp = alongRow<Along::logSoftmax>(
    "log_softmax", "log(softmax(x)) along an axis, without loss",
    "fn @main(%x: Tensor[(n, m), f32]) { %y = log_softmax(%x) {axis = 0} return %y }");
constexpr OpDef hardmaxOp =
    alongRow<Along::hardmax>("hardmax", "1 at the first largest element along an axis, else 0",
                             "fn @main(%x: Tensor[(n, m), f32]) { %y = hardmax(%x) return %y }");
constexpr OpDef lp_normalizationOp = alongRow<Along::lpNorm>(
    "lp_normalization", "x divided by its norm along an axis; 0 where the norm is 0",
    "fn @main(%x: Tensor[(n, m), f32]) { %y = lp_normalization(%x) {p = 1} return %y }");

}  // namespace ops
}  // namespace dyn
