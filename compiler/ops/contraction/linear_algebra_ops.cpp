// Linear algebra on small matrices: det, inverse; pairwise_coupling.
#include <cmath>
#include <utility>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

namespace {

Status inferDet(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the matrices"));
  if (x.rank() < 2)
    return c.error(DiagnosticId::rankMismatch, "a matrix has two axes, this is " + x.type.toString());
  DYN_CHECK(c.requireEqual(x.dims[x.dims.size() - 2], x.dims.back(), "the matrices are square"));
  setTensor(c, Shape(x.dims.begin(), x.dims.end() - 2), x.dtype);
  return {};
}

// Elimination with the largest pivot.
double eliminated(std::vector<double> a, int64_t size) {
  const auto at = [&](int64_t i, int64_t j) -> double& { return a[static_cast<size_t>(i * size + j)]; };
  double product = 1;
  for (int64_t k = 0; k < size; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < size; ++i) {
      if (std::fabs(at(i, k)) > std::fabs(at(pivot, k))) pivot = i;
    }
    if (pivot != k) {
      for (int64_t j = 0; j < size; ++j) std::swap(at(k, j), at(pivot, j));
      product = -product;
    }
    product *= at(k, k);
    if (at(k, k) == 0) return product;
    for (int64_t i = k + 1; i < size; ++i) {
      const double factor = at(i, k) / at(k, k);
      for (int64_t j = k; j < size; ++j) at(i, j) -= factor * at(k, j);
    }
  }
  return product;
}

Status evaluateDet(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const int64_t size = x.shape().back();
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end() - 2);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  for (int64_t i = 0; i < result.elementCount(); ++i) {
    std::vector<double> matrix;
    for (int64_t j = 0; j < size * size; ++j) matrix.push_back(x.realAt(i * size * size + j));
    result.setReal(i, eliminated(std::move(matrix), size));
  }
  c.setResult(0, std::move(result));
  return {};
}

Status checkDet(const BuiltinRequest& request, CallFields<calls::Det>&) {
  const Dtype dtype = request.operandTypes[0].dtype();
  if (dtype == Dtype::f32 || dtype == Dtype::f64) return {};
  return makeError(DiagnosticId::unsupportedDtype,
                   "unsupported: det of " + std::string(toString(dtype)) + " is not compiled",
                   request.op.place);
}

// --- inverse

Status inferInverse(InferContext& c) {
  DYN_CHECK(inferDet(c));
  c.setResult(0, c.operandType(0));
  return {};
}

// Elimination of the matrix with the identity beside it.
std::vector<double> inverseOf(std::vector<double> a, int64_t size) {
  std::vector<double> b(a.size(), 0);
  const auto at = [size](std::vector<double>& m, int64_t i, int64_t j) -> double& {
    return m[static_cast<size_t>(i * size + j)];
  };
  for (int64_t i = 0; i < size; ++i) at(b, i, i) = 1;
  for (int64_t k = 0; k < size; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < size; ++i)
      if (std::fabs(at(a, i, k)) > std::fabs(at(a, pivot, k))) pivot = i;
    const double factor = 1 / at(a, pivot, k);
    for (int64_t j = 0; j < size; ++j) {
      std::swap(at(a, k, j), at(a, pivot, j));
      std::swap(at(b, k, j), at(b, pivot, j));
      at(a, k, j) *= factor;
      at(b, k, j) *= factor;
    }
    for (int64_t i = 0; i < size; ++i) {
      const double taken = at(a, i, k);
      for (int64_t j = 0; i != k && j < size; ++j) {
        at(a, i, j) -= taken * at(a, k, j);
        at(b, i, j) -= taken * at(b, k, j);
      }
    }
  }
  return b;
}

Status evaluateInverse(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const int64_t size = x.shape().back(), count = size * size;
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  for (int64_t begin = 0; begin < x.elementCount(); begin += count) {
    std::vector<double> matrix;
    for (int64_t j = 0; j < count; ++j) matrix.push_back(x.realAt(begin + j));
    const std::vector<double> inverse = inverseOf(std::move(matrix), size);
    for (int64_t j = 0; j < count; ++j) result.setReal(begin + j, inverse[static_cast<size_t>(j)]);
  }
  c.setResult(0, std::move(result));
  return {};
}

Status checkInverse(const BuiltinRequest& request, CallFields<calls::Inverse>&) {
  const Dtype dtype = request.operandTypes[0].dtype();
  if (dtype == Dtype::f32 || dtype == Dtype::f64) return {};
  return makeError(DiagnosticId::unsupportedDtype,
                   "unsupported: inverse of " + std::string(toString(dtype)) + " is not compiled",
                   request.op.place);
}

// --- pairwise_coupling

Status inferPairwiseCoupling(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireDtype(c, x, Dtype::f32, "the probabilities"));
  DYN_CHECK(inferDet(c));
  setTensor(c, Shape(x.dims.begin(), x.dims.end() - 1), x.dtype);
  return {};
}

// The second method of Wu, Lin and Weng (2004); it stops by rounds of f32, as the runtime's.
std::vector<float> coupled(const std::vector<float>& r, size_t m) {
  const auto at = [m](size_t i, size_t j) { return i * m + j; };
  std::vector<float> q(m * m, 0), qp(m, 0), p(m, 1 / static_cast<float>(m));
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < m; ++j) {
      if (i == j) continue;
      q[at(i, i)] += r[at(j, i)] * r[at(j, i)];
      q[at(i, j)] = -r[at(j, i)] * r[at(i, j)];
    }
  for (int round = 0; round < 100; ++round) {
    float product = 0, worst = 0;
    for (size_t i = 0; i < m; ++i) {
      qp[i] = 0;
      for (size_t j = 0; j < m; ++j) qp[i] += q[at(i, j)] * p[j];
      product += p[i] * qp[i];
    }
    for (size_t i = 0; i < m; ++i) worst = std::max(worst, std::fabs(qp[i] - product));
    if (worst < 0.005f / static_cast<float>(m)) break;
    for (size_t i = 0; i < m; ++i) {
      const float step = (product - qp[i]) / q[at(i, i)], rest = 1 + step;
      p[i] += step;
      product = (product + step * (step * q[at(i, i)] + 2 * qp[i])) / rest / rest;
      for (size_t j = 0; j < m; ++j) {
        qp[j] = (qp[j] + step * q[at(i, j)]) / rest;
        p[j] /= rest;
      }
    }
  }
  return p;
}

Status evaluatePairwiseCoupling(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const int64_t m = x.shape().back();
  DYN_TRY(HostTensor result,
          newTensor(Dtype::f32, std::vector<int64_t>(x.shape().begin(), x.shape().end() - 1)));
  for (int64_t row = 0; m > 0 && row < result.elementCount() / m; ++row) {
    std::vector<float> pairs;
    for (int64_t i = 0; i < m * m; ++i) pairs.push_back(static_cast<float>(x.realAt(row * m * m + i)));
    const std::vector<float> p = coupled(pairs, static_cast<size_t>(m));
    for (int64_t i = 0; i < m; ++i) result.setReal(row * m + i, p[static_cast<size_t>(i)]);
  }
  c.setResult(0, std::move(result));
  return {};
}

}  // namespace

namespace ops {

const OpDef detOp{
    .name = "det",
    .summary = "determinants of square matrices",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferDet,
    .evaluate = evaluateDet,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Det, checkDet>,
    .operandRules = kAnyElements,
    .doc = "[..., m, m] -> [...]; of an empty matrix 1",
    .example = "fn @main(%x: Tensor[(n, 3, 3), f32]) { %y = det(%x) return %y }",
};

const OpDef inverseOp{
    .name = "inverse",
    .summary = "inverses of square matrices",
    .cls = OpClass::opaque,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferInverse,
    .evaluate = evaluateInverse,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Inverse, checkInverse>,
    .operandRules = kAnyElements,
    .doc = "[..., m, m] -> [..., m, m]; of a singular matrix infinities or NaN",
    .example = "fn @main(%x: Tensor[(n, 3, 3), f32]) { %y = inverse(%x) return %y }",
};

const OpDef pairwise_couplingOp{
    .name = "pairwise_coupling",
    .summary = "probabilities of classes from those of pairs of classes",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferPairwiseCoupling,
    .evaluate = evaluatePairwiseCoupling,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::PairwiseCoupling>,
    .operandRules = kAnyElements,
    .doc =
        "pairs [..., m, m] f32 -> [..., m]; [i, j] is the probability of class i when it is i or j; the "
        "diagonal is not read",
    .example = "fn @main(%x: Tensor[(n, 3, 3), f32]) { %y = pairwise_coupling(%x) return %y }",
};

}  // namespace ops
}  // namespace dyn
