// Linear algebra on small matrices: det.
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

}  // namespace ops
}  // namespace dyn
