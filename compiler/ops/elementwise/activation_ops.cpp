// Activation functions: result[i] = f(x[i]) with constants from attributes. Narrow reals (f16, bf16) compute
// in f32.
#include <cmath>

#include "compiler/ops/elementwise/elementwise_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::UnaryOp;

namespace {

// The expression being built, with its constants in the dtype of x.
struct Builder {
  LowerContext& c;
  Dtype dtype;
  Expr number(double v) const { return c.number(v, dtype); }
  Expr attribute(std::string_view name, double fallback) const {
    return number(c.attributes().real(name, fallback));
  }
  Expr exp(Expr x) const { return c.loops().unary(UnaryOp::exp, x); }
  Expr expMinusOne(Expr x) const { return c.loops().unary(UnaryOp::expm1, x); }
  Expr logOnePlus(Expr x) const { return c.loops().unary(UnaryOp::log1p, x); }
  Expr abs(Expr x) const { return c.loops().unary(UnaryOp::abs, x); }
  Expr erf(Expr x) const { return c.loops().unary(UnaryOp::erf, x); }
  // log(1 + exp(x)) without overflow.
  Expr softplus(Expr x) const { return max(x, number(0)) + logOnePlus(exp(number(0) - abs(x))); }
  Expr sigmoid(Expr x) const { return c.loops().unary(UnaryOp::sigmoid, x); }
  // x tanh(log(1 + w)) = x ((1 + w)^2 - 1) / ((1 + w)^2 + 1) with w = exp(x); from 20 on the quotient is 1.
  Expr mish(Expr x) const {
    const Expr w = exp(min(x, number(20))), top = w * (w + number(2));
    return x * (top / (top + number(2)));
  }
};

Result<Expr> lowerActivation(LowerContext& c, std::span<const Expr> index,
                             Expr (*function)(const Builder&, Expr)) {
  DYN_TRY(Expr x, c.read(0, index));
  const Dtype narrow = x.dtype();
  const Dtype wide = narrow == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  if (wide != narrow) x = c.loops().cast(x, wide);
  const Expr y = function(Builder{c, wide}, x);
  return wide == narrow ? y : c.loops().cast(y, narrow);
}

// Attributes as they are computed with: in f32, but for operands of f64.
struct RealAttributes {
  EvalContext& c;
  double real(std::string_view name, double fallback) const {
    const double value = c.attributes().real(name, fallback);
    return c.operand(0).dtype() == Dtype::f64 ? value : static_cast<float>(value);
  }
};

double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

// (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)), where nothing is lost of what is left far below 0.
double gelu(const Attributes& attributes, double x) {
  if (attributes.string("approximate", "none") == "tanh")
    return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

Expr lowerGelu(const Builder& b, Expr x) {
  if (b.c.attributes().string("approximate", "none") == "tanh")
    return x * b.sigmoid(b.number(2 * std::sqrt(2 / M_PI)) * (x + b.number(0.044715) * x * x * x));
  return b.number(0.5) * x * (b.number(1) + b.erf(x * b.number(std::sqrt(0.5))));
}

Status inferGelu(InferContext& c) {
  const std::string approximate = c.attributes().string("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return c.error(DiagnosticId::badAttribute,
                   "approximate is \"none\" or \"tanh\", not \"" + approximate + "\"");
  }
  return inferSameReal(c);
}

Status evaluateRelu(EvalContext& c) {
  if (isReal(c.operand(0).dtype())) return evaluateRealMap(c, [](double x) { return x < 0 ? 0.0 : x; });
  return evaluateIntegerMap(c, [](int64_t x) { return x < 0 ? 0 : x; });
}

constexpr AttributeSpec kAlpha001[] = {
    {"alpha", AttributeKind::real, false, "slope below 0; default 0.01", Allowed::any()}};
constexpr AttributeSpec kAlpha1[] = {{"alpha", AttributeKind::real, false, "default 1", Allowed::any()}};
constexpr AttributeSpec kSelu[] = {
    {"alpha", AttributeKind::real, false, "default 1.67326319", Allowed::any()},
    {"gamma", AttributeKind::real, false, "default 1.05070102", Allowed::any()}};
constexpr AttributeSpec kHardSigmoid[] = {
    {"alpha", AttributeKind::real, false, "slope; default 0.2", Allowed::any()},
    {"beta", AttributeKind::real, false, "value at 0; default 0.5", Allowed::any()}};
constexpr AttributeSpec kGelu[] = {{"approximate", AttributeKind::string, false,
                                    "\"none\" (erf) or \"tanh\"; default \"none\"",
                                    Allowed::oneOf("none tanh")}};

}  // namespace

namespace ops {

const OpDef reluOp{
    .name = "relu",
    .summary = "max(x, 0)",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferSameSigned,
    .evaluate = evaluateRelu,
    .lowering = LoweringKind::loops,
    .lower = [](LowerContext& c, int, std::span<const Expr> index) -> Result<Expr> {
      DYN_TRY(Expr x, c.read(0, index));
      const Expr zero = c.number(0, x.dtype());
      return isReal(x.dtype()) ? c.loops().select(x < zero, zero, x) : max(x, zero);  // keeps -0 and NaN
    },
    .doc = "[...] -> [...]",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = relu(%x) return %y }",
};

// One row per function: its value in double (a: attributes), and the same built as an expression (b:
// constants and functions).
#define DYN_ACTIVATION_ROW(operation, text, elementCost, specs, evaluated, lowered)                        \
  const OpDef operation##Op {                                                                              \
    .name = #operation, .summary = text, .cls = OpClass::elementwise,                                      \
    .traits = {.cost = ElementCost::elementCost}, .minOperands = 1, .maxOperands = 1, .attributes = specs, \
    .infer = inferSameReal,                                                                                \
    .evaluate = [](EvalContext& c) -> Status {                                                             \
      [[maybe_unused]] const RealAttributes a{c};                                                          \
      return evaluateRealMap(c, [&](double x) -> double { return evaluated; });                            \
    },                                                                                                     \
    .lowering = LoweringKind::loops,                                                                       \
    .lower = [](LowerContext& c, int, std::span<const Expr> index) -> Result<Expr> {                       \
      return lowerActivation(c, index, [](const Builder& b, Expr x) -> Expr { return lowered; });          \
    },                                                                                                     \
    .doc = "[...] -> [...]",                                                                               \
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = " #operation "(%x) return %y }"                   \
  }

constexpr std::span<const AttributeSpec> kNone{};

DYN_ACTIVATION_ROW(sigmoid, "1 / (1 + exp(-x))", function, kNone, 1 / (1 + std::exp(-x)), b.sigmoid(x));
DYN_ACTIVATION_ROW(softplus, "log(1 + exp(x))", function, kNone, dyn::softplus(x), b.softplus(x));
DYN_ACTIVATION_ROW(softsign, "x / (1 + |x|)", arithmetic, kNone, x / (1 + std::fabs(x)),
                   x / (b.number(1) + b.abs(x)));
DYN_ACTIVATION_ROW(leaky_relu, "x, below 0 alpha * x", arithmetic, kAlpha001,
                   x < 0 ? a.real("alpha", 0.01) * x : x,
                   select(x < b.number(0), b.attribute("alpha", 0.01) * x, x));
DYN_ACTIVATION_ROW(elu, "x, below 0 alpha * (exp(x) - 1)", function, kAlpha1,
                   x < 0 ? a.real("alpha", 1) * std::expm1(x) : x,
                   select(x < b.number(0), b.attribute("alpha", 1) * b.expMinusOne(x), x));
DYN_ACTIVATION_ROW(selu, "gamma * x, below 0 gamma * alpha * (exp(x) - 1)", function, kSelu,
                   a.real("gamma", kSeluGamma) * (x > 0 ? x : a.real("alpha", kSeluAlpha) * std::expm1(x)),
                   b.attribute("gamma", kSeluGamma) *
                       select(x > b.number(0), x, b.attribute("alpha", kSeluAlpha) * b.expMinusOne(x)));
DYN_ACTIVATION_ROW(celu, "max(0, x) + min(0, alpha * (exp(x / alpha) - 1))", function, kAlpha1,
                   x > 0 ? x : a.real("alpha", 1) * std::expm1(x / a.real("alpha", 1)),
                   select(x > b.number(0), x,
                          b.attribute("alpha", 1) * b.expMinusOne(x / b.attribute("alpha", 1))));
DYN_ACTIVATION_ROW(hard_sigmoid, "max(0, min(1, alpha * x + beta))", arithmetic, kHardSigmoid,
                   std::isnan(x) ? x
                                 : std::fmax(0, std::fmin(1, a.real("alpha", 0.2) * x + a.real("beta", 0.5))),
                   max(b.number(0),
                       min(b.number(1), b.attribute("alpha", 0.2) * x + b.attribute("beta", 0.5))));
DYN_ACTIVATION_ROW(hard_swish, "x * max(0, min(1, x / 6 + 0.5))", arithmetic, kNone,
                   std::isnan(x) ? x : x* std::fmax(0, std::fmin(1, x / 6 + 0.5)),
                   x* max(b.number(0), min(b.number(1), x* b.number(1.0 / 6) + b.number(0.5))));
DYN_ACTIVATION_ROW(mish, "x * tanh(softplus(x))", function, kNone, x* std::tanh(dyn::softplus(x)), b.mish(x));
DYN_ACTIVATION_ROW(thresholded_relu, "x above alpha, else 0", arithmetic, kAlpha1,
                   x > a.real("alpha", 1) ? x : 0, select(x > b.attribute("alpha", 1), x, b.number(0)));

const OpDef geluOp{
    .name = "gelu",
    .summary = "x times the normal distribution's probability of less than x",
    .cls = OpClass::elementwise,
    .traits = {.cost = ElementCost::function},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kGelu,
    .infer = inferGelu,
    .evaluate =
        [](EvalContext& c) { return evaluateRealMap(c, [&](double x) { return gelu(c.attributes(), x); }); },
    .lowering = LoweringKind::loops,
    .lower = [](LowerContext& c, int, std::span<const Expr> index) -> Result<Expr> {
      return lowerActivation(c, index, lowerGelu);
    },
    .doc = "[...] -> [...]",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = gelu(%x) {approximate = \"tanh\"} return %y }",
};

}  // namespace ops
}  // namespace dyn
