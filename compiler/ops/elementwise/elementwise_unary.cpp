// Element-by-element functions of one operand: result[i] = f(x[i]). Activations stand in activation_ops.cpp, casts in elementwise_select.cpp.
#include <cmath>

#include "compiler/ops/elementwise/elementwise_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::UnaryOp;

namespace {

template <UnaryOp kOp>
Result<Expr> lowerUnary(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr x, c.read(0, index));
  return c.loops().unary(kOp, x);
}

template <double (*kFunction)(double)>
Status evaluateFunction(EvalContext& c) {
  return evaluateRealMap(c, kFunction);
}

Status inferSameBoolean(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireDtype(c, x, Dtype::boolean, "the operand"));
  return inferSame(c);
}

Status inferSameInteger(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::integer, DtypeClass::natural}, "the operand"));
  c.setResult(0, x.type);
  return {};
}

Status inferNeg(InferContext& c) {
  DYN_CHECK(inferSameSigned(c));
  if (std::optional<Contents> contents = c.operandContents(0)) {
    for (Dim& d : *contents) d = d ? constantDim(c, 0) - d : d;
    c.setResultContents(0, *contents);
  }
  return {};
}

// A test of each element: boolean result.
Status inferTest(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  setTensor(c, x.dims, Dtype::boolean);
  return {};
}

template <typename Test>
Status evaluateTest(EvalContext& c, Test test) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(Dtype::boolean, x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) result.setInt(i, test(x.realAt(i)) ? 1 : 0);
  c.setResult(0, std::move(result));
  return {};
}

bool isInfinite(const Attributes& attributes, double x) {
  return std::isinf(x) && attributes.integer(x > 0 ? "detect_positive" : "detect_negative", 1) != 0;
}

Result<Expr> lowerIsInf(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr x, c.read(0, index));
  Expr infinite = c.loops().unary(UnaryOp::isInf, x);
  const Expr zero = c.number(0, x.dtype());
  if (c.attributes().integer("detect_positive", 1) == 0) infinite = infinite && x < zero;
  if (c.attributes().integer("detect_negative", 1) == 0) infinite = infinite && x > zero;
  return infinite;
}

double signOf(double x) { return std::isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0; }

// Integers too; u64 has no sign.
Status evaluateSign(EvalContext& c) {
  const Dtype dtype = c.operand(0).dtype();
  if (isReal(dtype)) return evaluateRealMap(c, signOf);
  if (!isSigned(dtype)) return evaluateIntegerMap(c, [](int64_t x) { return x != 0 ? 1 : 0; });
  return evaluateIntegerMap(c, [](int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; });
}

Status evaluateAbs(EvalContext& c) {
  if (isReal(c.operand(0).dtype())) return evaluateRealMap(c, [](double x) { return std::fabs(x); });
  if (!isSigned(c.operand(0).dtype())) return evaluateIntegerMap(c, [](int64_t x) { return x; });
  return evaluateIntegerMap(
      c, [](int64_t x) { return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x; });
}

Status evaluateNeg(EvalContext& c) {
  if (isReal(c.operand(0).dtype())) return evaluateRealMap(c, [](double x) { return -x; });
  return evaluateIntegerMap(c, [](int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); });
}

constexpr AttributeSpec kIsInfAttributes[] = {
    {"detect_negative", AttributeKind::integer, false, "0: minus infinity does not count; default 1",
     Allowed::flag()},
    {"detect_positive", AttributeKind::integer, false, "0: plus infinity does not count; default 1",
     Allowed::flag()}};

}  // namespace

namespace ops {

// One row per function; `evaluate` is the C library's function in double, `lower` the loop IR's operation.
#define DYN_UNARY_ROW(operation, text, inferRule, evaluateRule, loopOperation)                            \
  const OpDef operation##Op {                                                                             \
    .name = #operation, .summary = text, .cls = OpClass::elementwise, .minOperands = 1, .maxOperands = 1, \
    .infer = inferRule, .evaluate = evaluateRule, .lowering = LoweringKind::loops,                        \
    .lower = lowerUnary<UnaryOp::loopOperation>, .doc = "[...] -> [...]",                                 \
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = " #operation "(%x) return %y }"                  \
  }

DYN_UNARY_ROW(neg, "-x", inferNeg, evaluateNeg, neg);
DYN_UNARY_ROW(abs, "|x|", inferSameNumber, evaluateAbs, abs);
DYN_UNARY_ROW(sign, "-1, 0 or 1", inferSameNumber, evaluateSign, sign);
DYN_UNARY_ROW(floor, "the largest integer <= x", inferSameReal, evaluateFunction<std::floor>, floor);
DYN_UNARY_ROW(ceil, "the smallest integer >= x", inferSameReal, evaluateFunction<std::ceil>, ceil);
DYN_UNARY_ROW(round, "the nearest integer, halves to even", inferSameReal, evaluateFunction<std::nearbyint>,
              round);
DYN_UNARY_ROW(sqrt, "the square root; NaN below 0", inferSameReal, evaluateFunction<std::sqrt>, sqrt);
DYN_UNARY_ROW(exp, "e to the power x", inferSameReal, evaluateFunction<std::exp>, exp);
DYN_UNARY_ROW(log, "the natural logarithm", inferSameReal, evaluateFunction<std::log>, log);
DYN_UNARY_ROW(sin, "sine", inferSameReal, evaluateFunction<std::sin>, sin);
DYN_UNARY_ROW(cos, "cosine", inferSameReal, evaluateFunction<std::cos>, cos);
DYN_UNARY_ROW(tan, "tangent", inferSameReal, evaluateFunction<std::tan>, tan);
DYN_UNARY_ROW(asin, "arc sine", inferSameReal, evaluateFunction<std::asin>, asin);
DYN_UNARY_ROW(acos, "arc cosine", inferSameReal, evaluateFunction<std::acos>, acos);
DYN_UNARY_ROW(atan, "arc tangent", inferSameReal, evaluateFunction<std::atan>, atan);
DYN_UNARY_ROW(sinh, "hyperbolic sine", inferSameReal, evaluateFunction<std::sinh>, sinh);
DYN_UNARY_ROW(cosh, "hyperbolic cosine", inferSameReal, evaluateFunction<std::cosh>, cosh);
DYN_UNARY_ROW(tanh, "hyperbolic tangent", inferSameReal, evaluateFunction<std::tanh>, tanh);
DYN_UNARY_ROW(asinh, "inverse hyperbolic sine", inferSameReal, evaluateFunction<std::asinh>, asinh);
DYN_UNARY_ROW(acosh, "inverse hyperbolic cosine", inferSameReal, evaluateFunction<std::acosh>, acosh);
DYN_UNARY_ROW(atanh, "inverse hyperbolic tangent", inferSameReal, evaluateFunction<std::atanh>, atanh);
DYN_UNARY_ROW(erf, "the error function", inferSameReal, evaluateFunction<std::erf>, erf);

const OpDef identityOp{
    .name = "identity",
    .summary = "the operand itself",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = [](InferContext& c) -> Status {
      c.setResult(0, c.operandType(0));
      if (std::optional<Contents> contents = c.operandContents(0)) c.setResultContents(0, *contents);
      return {};
    },
    .evaluate = [](EvalContext& c) -> Status {
      c.setResult(0, c.operand(0));
      return {};
    },
    .lowering = LoweringKind::loops,
    .lower = [](LowerContext& c, int, std::span<const Expr> index) { return c.read(0, index); },
    .doc = "any value -> the same value",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = identity(%x) return %y }",
};

const OpDef reciprocalOp{
    .name = "reciprocal",
    .summary = "1 / x",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferSameReal,
    .evaluate = [](EvalContext& c) { return evaluateRealMap(c, [](double x) { return 1 / x; }); },
    .lowering = LoweringKind::loops,
    .lower = [](LowerContext& c, int, std::span<const Expr> index) -> Result<Expr> {
      DYN_TRY(Expr x, c.read(0, index));
      return c.number(1, x.dtype()) / x;
    },
    .doc = "[...] -> [...]",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = reciprocal(%x) return %y }",
};

const OpDef logical_notOp{
    .name = "logical_not",
    .summary = "not x",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = [](InferContext& c) -> Status {
      DYN_CHECK(inferSameBoolean(c));
      if (std::optional<Contents> contents = c.operandContents(0)) {
        for (Dim& d : *contents) d = d && d.isConstant() ? constantDim(c, *d.constant() == 0 ? 1 : 0) : Dim();
        c.setResultContents(0, *contents);
      }
      return {};
    },
    .evaluate =
        [](EvalContext& c) { return evaluateIntegerMap(c, [](int64_t x) { return x == 0 ? 1 : 0; }); },
    .lowering = LoweringKind::loops,
    .lower = lowerUnary<UnaryOp::logicalNot>,
    .doc = "[...] bool -> [...] bool",
    .example = "fn @main(%x: Tensor[(n), bool]) { %y = logical_not(%x) return %y }",
};

const OpDef bit_notOp{
    .name = "bit_not",
    .summary = "every bit inverted",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferSameInteger,
    .evaluate = [](EvalContext& c) { return evaluateIntegerMap(c, [](int64_t x) { return ~x; }); },
    .lowering = LoweringKind::loops,
    .lower = lowerUnary<UnaryOp::bitNot>,
    .doc = "[...] integer -> [...]",
    .example = "fn @main(%x: Tensor[(n), u8]) { %y = bit_not(%x) return %y }",
};

const OpDef is_nanOp{
    .name = "is_nan",
    .summary = "whether x is not a number",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferTest,
    .evaluate = [](EvalContext& c) { return evaluateTest(c, [](double x) { return std::isnan(x); }); },
    .lowering = LoweringKind::loops,
    .lower = lowerUnary<UnaryOp::isNan>,
    .doc = "[...] -> [...] bool",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = is_nan(%x) return %y }",
};

const OpDef is_infOp{
    .name = "is_inf",
    .summary = "whether x is infinite",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kIsInfAttributes,
    .infer = inferTest,
    .evaluate =
        [](EvalContext& c) {
          return evaluateTest(c, [&](double x) { return isInfinite(c.attributes(), x); });
        },
    .lowering = LoweringKind::loops,
    .lower = lowerIsInf,
    .doc = "[...] -> [...] bool",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = is_inf(%x) {detect_negative = 0} return %y }",
};

}  // namespace ops
}  // namespace dyn
