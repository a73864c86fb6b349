// Element-by-element operators of two operands, broadcast as NumPy does. where, clip, prelu stand in
// elementwise_select.cpp.
#include <cmath>

#include "compiler/loop/scalar_math.h"
#include "compiler/ops/elementwise/elementwise_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using loop::BinaryOp;
using loop::Expr;
using loop::LowerContext;

namespace {

using Classes = std::initializer_list<DtypeClass>;
constexpr Classes kNumbers = {DtypeClass::real, DtypeClass::integer, DtypeClass::natural};
constexpr Classes kIntegers = {DtypeClass::integer, DtypeClass::natural};
constexpr Classes kBooleans = {DtypeClass::boolean};
constexpr Classes kComparable = {DtypeClass::real, DtypeClass::integer, DtypeClass::natural,
                                 DtypeClass::boolean};
constexpr Classes kEqualable = {DtypeClass::real, DtypeClass::integer, DtypeClass::natural,
                                DtypeClass::boolean, DtypeClass::text};

// An element of the result's contents from known elements of both sides; null when it cannot be told.
using ContentRule = Dim (*)(const InferContext&, Dim, Dim);

void setPairContents(InferContext& c, const Shape& shape, ContentRule rule) {
  std::optional<ContentPair> pair = broadcastContents(c, shape);
  if (!pair) return;
  Contents contents(pair->a.size());
  for (size_t i = 0; i < contents.size(); ++i) {
    if (pair->a[i] && pair->b[i]) contents[i] = rule(c, pair->a[i], pair->b[i]);
  }
  c.setResultContents(0, std::move(contents));
}

Status inferPair(InferContext& c, Classes classes, bool isTest, ContentRule rule) {
  TensorOperand a, b;
  DYN_TRY(Shape shape, inferBroadcastPair(c, &a, &b));
  DYN_CHECK(requireClass(c, a, classes, "the operands"));
  setTensor(c, shape, isTest ? Dtype::boolean : a.dtype);
  if (rule) setPairContents(c, shape, rule);
  return {};
}

Dim boolDim(const InferContext& c, bool value) { return constantDim(c, value ? 1 : 0); }

bool isNonNegative(const InferContext& c, Dim d) {
  return c.solver().lessEqual(constantDim(c, 0), d) == Answer::yes;
}

// a / b where b divides each term of a by its factors alone, whatever they are; null: it does not. A division
// by 0 has no result that one could ask for.
Dim exactQuotient(Dim a, Dim b) {
  const auto parts = [](Dim d, DimKind kind) {
    return d.kind() == kind ? Shape(d.operands().begin(), d.operands().end()) : Shape{d};
  };
  Dim quotient = b.context().constant(0);
  for (Dim term : parts(a, DimKind::add)) {
    Shape left = parts(term, DimKind::mul);
    int64_t number = 1, divisor = 1;
    if (const std::optional<int64_t> value = left[0].constant()) {
      number = *value;
      left.erase(left.begin());
    }
    for (Dim factor : parts(b, DimKind::mul)) {
      if (const std::optional<int64_t> value = factor.constant()) {
        divisor = *value;
        continue;
      }
      const auto same = std::find(left.begin(), left.end(), factor);
      if (same == left.end()) return Dim();
      left.erase(same);
    }
    if (divisor < 1 || number % divisor != 0) return Dim();
    Dim part = b.context().constant(number / divisor);
    for (Dim factor : left) part = part * factor;
    quotient = quotient + part;
  }
  return quotient;
}

// Truncation is floor from 0 up. Exporters divide sizes less one, of which a later operation may tell that
// they are not negative: what is below 0 stands by itself until then.
Dim contentsDiv(const InferContext& c, Dim a, Dim b) {
  if (a.isConstant() && b.isConstant()) {
    if (*b.constant() == 0 || (*b.constant() == -1 && *a.constant() == INT64_MIN)) return Dim();
    return constantDim(c, *a.constant() / *b.constant());
  }
  if (const Dim exact = exactQuotient(a, b)) return exact;
  const Dim zero = constantDim(c, 0);
  if (c.solver().lessEqual(constantDim(c, 1), b) != Answer::yes) return Dim();
  if (isNonNegative(c, a)) return floorDiv(a, b);
  const Dim above = floorDiv(dyn::max(a, zero), b);
  if (c.solver().lessEqual(zero, a + b - 1) == Answer::yes) return above;
  return above - floorDiv(dyn::max(zero - a, zero), b);
}

Dim contentsMod(const InferContext& c, Dim a, Dim b) {
  const bool positive = c.solver().lessEqual(constantDim(c, 1), b) == Answer::yes;
  if (!positive) return Dim();
  // The remainder of fmod has the sign of a.
  return c.attributes().integer("fmod") == 0 || isNonNegative(c, a) ? mod(a, b) : Dim();
}

// Squares of sizes: exporters write the places of a square image so.
Dim contentsPow(const InferContext& c, Dim a, Dim b) {
  constexpr int64_t kMostFactors = 4;
  const std::optional<int64_t> exponent = b.constant();
  if (!exponent) return Dim();
  if (const std::optional<int64_t> base = a.constant())
    return constantDim(c, loop::integerPower(*base, *exponent, true));
  if (*exponent < 0 || *exponent > kMostFactors) return Dim();
  Dim power = constantDim(c, 1);
  for (int64_t i = 0; i < *exponent; ++i) power = power * a;
  return power;
}

Dim contentsEqual(const InferContext& c, Dim a, Dim b) {
  const Answer answer = c.solver().equal(a, b);
  return answer == Answer::unknown ? Dim() : boolDim(c, answer == Answer::yes);
}

Dim contentsLessEqual(const InferContext& c, Dim a, Dim b) {
  const Answer answer = c.solver().lessEqual(a, b);
  return answer == Answer::unknown ? Dim() : boolDim(c, answer == Answer::yes);
}

Dim contentsLess(const InferContext& c, Dim a, Dim b) { return contentsLessEqual(c, a + 1, b); }

// kKnown: 0 = and, 1 = or, 2 = xor of constants.
template <int kKnown>
Dim contentsLogical(const InferContext& c, Dim a, Dim b) {
  if (!a.isConstant() || !b.isConstant()) return Dim();
  const bool x = *a.constant() != 0, y = *b.constant() != 0;
  return boolDim(c, kKnown == 0 ? x && y : kKnown == 1 ? x || y : x != y);
}

// Element pairs of both operands along the broadcast; `compute(result, i, a, ia, b, ib)` writes element i.
template <typename Compute>
Status evaluatePair(EvalContext& c, bool isTest, Compute compute) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  auto shape = broadcastConcrete(a.shape(), b.shape());
  if (!shape) {
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(a.shape()) + " and " + shapeText(b.shape()) + " do not broadcast");
  }
  DYN_TRY(HostTensor result, newTensor(isTest ? Dtype::boolean : a.dtype(), *shape));
  RowWalk row(*shape, {broadcastStrides(a.shape(), *shape), broadcastStrides(b.shape(), *shape)});
  for (; !row.done(); row.next())
    for (int64_t j = 0; j < row.count(); ++j)
      if (!compute(result, row.first() + j, a, row.offset(0) + j * row.step(0), b,
                   row.offset(1) + j * row.step(1)))
        return c.error(DiagnosticId::runtimeError, "integer division by zero");
  c.setResult(0, std::move(result));
  return {};
}

using IntegerRule = int64_t (*)(int64_t, int64_t);
using RealRule = double (*)(double, double);

// What weights are folded by: their elements where they lie.
Status evaluateFloats(EvalContext& c, RealRule rule) {
  const float *a = c.operand(0).as<float>(), *b = c.operand(1).as<float>();
  float* result = nullptr;
  return evaluatePair(
      c, false, [&](HostTensor& r, int64_t i, const HostTensor&, int64_t ia, const HostTensor&, int64_t ib) {
        if (i == 0) result = r.mutableAs<float>();
        return result[i] = static_cast<float>(rule(a[ia], b[ib])), true;
      });
}

// `onNatural` serves u64, whose elements are bit patterns here; null: the rule for signed numbers does.
Status evaluateArithmetic(EvalContext& c, RealRule onReal, IntegerRule onInteger,
                          IntegerRule onNatural = nullptr, bool divides = false) {
  const Dtype dtype = c.operand(0).dtype();
  if (dtype == Dtype::f32 && c.operand(1).dtype() == Dtype::f32) return evaluateFloats(c, onReal);
  const IntegerRule rule = !isSigned(dtype) && onNatural ? onNatural : onInteger;
  return evaluatePair(
      c, false,
      [&](HostTensor& r, int64_t i, const HostTensor& a, int64_t ia, const HostTensor& b, int64_t ib) {
        if (isReal(dtype)) return r.setReal(i, onReal(a.realAt(ia), b.realAt(ib))), true;
        const int64_t y = b.intAt(ib);
        if (divides && y == 0) return false;
        return r.setInt(i, rule(a.intAt(ia), y)), true;
      });
}

Status evaluateCompare(EvalContext& c, bool (*onReal)(double, double), bool (*onInteger)(int64_t, int64_t),
                       bool (*onNatural)(uint64_t, uint64_t)) {
  const Dtype dtype = c.operand(0).dtype();
  return evaluatePair(
      c, true,
      [&](HostTensor& r, int64_t i, const HostTensor& a, int64_t ia, const HostTensor& b, int64_t ib) {
        bool holds = false;
        if (isReal(dtype)) {
          holds = onReal(a.realAt(ia), b.realAt(ib));
        } else if (dtype == Dtype::u64) {
          holds = onNatural(static_cast<uint64_t>(a.intAt(ia)), static_cast<uint64_t>(b.intAt(ib)));
        } else if (dtype == Dtype::string) {
          holds = onInteger(a.stringValues()[ia].compare(b.stringValues()[ib]), 0);
        } else {
          holds = onInteger(a.intAt(ia), b.intAt(ib));
        }
        return r.setInt(i, holds ? 1 : 0), true;
      });
}

// Wrapping arithmetic of any width: setInt wraps to the type.
int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }
uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

int64_t divideSigned(int64_t a, int64_t b) { return b == -1 ? wrap(0 - bits(a)) : a / b; }
int64_t divideNatural(int64_t a, int64_t b) { return wrap(bits(a) / bits(b)); }
int64_t floorModulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t moduloNatural(int64_t a, int64_t b) { return wrap(bits(a) % bits(b)); }
double floorModuloReal(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Status evaluatePow(EvalContext& c) {
  // The exponent may have an element type of its own.
  const bool realBase = isReal(c.operand(0).dtype()), realExponent = isReal(c.operand(1).dtype());
  return evaluatePair(
      c, false,
      [&](HostTensor& r, int64_t i, const HostTensor& a, int64_t ia, const HostTensor& b, int64_t ib) {
        if (!realBase && !realExponent) {
          const bool mayBeNegative = b.dtype() != Dtype::u64;
          return r.setInt(i, loop::integerPower(a.intAt(ia), b.intAt(ib), mayBeNegative)), true;
        }
        const double value = std::pow(a.realAt(ia), b.realAt(ib));
        if (realBase) return r.setReal(i, value), true;
        return setTruncated(r, i, value), true;
      });
}

Status inferPow(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand b, tensorOperand(c, 1));
  DYN_CHECK(requireClass(c, a, kNumbers, "the base"));
  DYN_CHECK(requireClass(c, b, kNumbers, "the exponent"));
  DYN_TRY(Shape shape, broadcastShapes(c, a.dims, b.dims));
  setTensor(c, shape, a.dtype);
  setPairContents(c, shape, contentsPow);
  return {};
}

Result<Expr> lowerPow(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr a, c.readBroadcast(0, index));
  DYN_TRY(Expr b, c.readBroadcast(1, index));
  if (a.dtype() == b.dtype()) return c.loops().binary(BinaryOp::pow, a, b);
  if (isReal(a.dtype())) return c.loops().binary(BinaryOp::pow, a, c.loops().cast(b, a.dtype()));
  // What wraps at 64 bits wraps at fewer, too.
  const Dtype common = isReal(b.dtype()) ? Dtype::f64 : Dtype::i64;
  const Expr power = c.loops().binary(BinaryOp::pow, c.loops().cast(a, common), c.loops().cast(b, common));
  return c.loops().cast(power, a.dtype());
}

Status inferMod(InferContext& c) {
  const bool isReal = c.operandType(0).isTensor() && dyn::isReal(c.operandType(0).dtype());
  if (isReal && c.attributes().integer("fmod") == 0) {
    return c.error(DiagnosticId::badAttribute, "reals need fmod = 1");
  }
  return inferPair(c, kNumbers, false, contentsMod);
}

Status evaluateMod(EvalContext& c) {
  if (c.attributes().integer("fmod") != 0) {
    return evaluateArithmetic(
        c, [](double a, double b) { return std::fmod(a, b); }, remainder, moduloNatural, true);
  }
  return evaluateArithmetic(c, floorModuloReal, floorModulo, moduloNatural, true);
}

template <BinaryOp kOp>
Result<Expr> lowerPair(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr a, c.readBroadcast(0, index));
  DYN_TRY(Expr b, c.readBroadcast(1, index));
  if (a.dtype() == Dtype::string) return c.error(DiagnosticId::unsupportedDtype, "strings are not compiled");
  return c.loops().binary(kOp, a, b);
}

Result<Expr> lowerMod(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr a, c.readBroadcast(0, index));
  DYN_TRY(Expr b, c.readBroadcast(1, index));
  return c.loops().binary(c.attributes().integer("fmod") != 0 ? BinaryOp::rem : BinaryOp::mod, a, b);
}

// a > b is b < a.
template <BinaryOp kOp>
Result<Expr> lowerSwapped(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr a, c.readBroadcast(0, index));
  DYN_TRY(Expr b, c.readBroadcast(1, index));
  return c.loops().binary(kOp, b, a);
}

Status inferShift(InferContext& c) {
  const std::string direction = c.attributes().string("direction");
  if (direction != "left" && direction != "right") {
    return c.error(DiagnosticId::badAttribute,
                   "direction is \"left\" or \"right\", not \"" + direction + "\"");
  }
  return inferPair(c, kIntegers, false, nullptr);
}

Status evaluateShift(EvalContext& c) {
  const bool isLeft = c.attributes().string("direction") == "left";
  const int64_t width = storageBytes(c.operand(0).dtype()) * 8;
  const bool hasSign = isSigned(c.operand(0).dtype());
  return evaluatePair(
      c, false,
      [&](HostTensor& r, int64_t i, const HostTensor& a, int64_t ia, const HostTensor& b, int64_t ib) {
        const int64_t x = a.intAt(ia), y = b.intAt(ib);
        const bool tooFar = y < 0 || y >= width;
        int64_t value = 0;
        if (isLeft) {
          value = tooFar ? 0 : wrap(bits(x) << y);
        } else if (hasSign) {
          value = tooFar ? (x < 0 ? -1 : 0) : x >> y;
        } else {
          value = tooFar ? 0 : wrap(bits(x) >> y);
        }
        return r.setInt(i, value), true;
      });
}

Result<Expr> lowerShift(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr a, c.readBroadcast(0, index));
  DYN_TRY(Expr b, c.readBroadcast(1, index));
  const bool isLeft = c.attributes().string("direction") == "left";
  return c.loops().binary(isLeft ? BinaryOp::shiftLeft : BinaryOp::shiftRight, a, b);
}

bool holdStrings(const Op&, std::span<const Type> operandTypes) {
  return operandTypes[0].dtype() == Dtype::string;
}

double minReal(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }
double maxReal(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }

constexpr AttributeSpec kModAttributes[] = {
    {"fmod", AttributeKind::integer, false,
     "1: the remainder has the sign of a (needed for reals); 0: of b; default 0", Allowed::flag()}};
constexpr AttributeSpec kShiftAttributes[] = {
    {"direction", AttributeKind::string, true, "\"left\" or \"right\"", Allowed::oneOf("left right")}};
constexpr std::span<const AttributeSpec> kNone{};
constexpr OperandRule kDivisorRules[] = {{1, ElementsAre::byKernel, "not 0, of integers"}};

}  // namespace

namespace ops {

// More fields may follow: DYN_PAIR_ROW(..., lowerRule, .builtin = "...").
#define DYN_PAIR_ROW(operation, text, element, elementCost, specs, inferRule, evaluateRule, ...)            \
  const OpDef operation##Op {                                                                               \
    .name = #operation, .summary = text, .cls = OpClass::elementwise,                                       \
    .traits = {.cost = ElementCost::elementCost}, .minOperands = 2, .maxOperands = 2, .attributes = specs,  \
    .infer = inferRule, .evaluate = evaluateRule, .lowering = LoweringKind::loops, .lower = __VA_ARGS__,    \
    .doc = "[...a], [...b] -> broadcast(a, b)",                                                             \
    .example = "fn @main(%a: Tensor[(n, 3), " element "], %b: Tensor[(3), " element "]) { %y = " #operation \
               "(%a, %b) return %y }"                                                                       \
  }
#define DYN_INFER(classes, test, rule) \
  [](InferContext& c) -> Status { return inferPair(c, classes, test, rule); }
#define DYN_CONTENTS(expression) [](const InferContext&, Dim a, Dim b) -> Dim { return expression; }

DYN_PAIR_ROW(
    add, "a + b", "f32", arithmetic, kNone, DYN_INFER(kNumbers, false, DYN_CONTENTS(a + b)),
    [](EvalContext& c) {
      return evaluateArithmetic(
          c, [](double a, double b) { return a + b; },
          [](int64_t a, int64_t b) { return wrap(bits(a) + bits(b)); });
    },
    lowerPair<BinaryOp::add>);
DYN_PAIR_ROW(
    sub, "a - b", "f32", arithmetic, kNone, DYN_INFER(kNumbers, false, DYN_CONTENTS(a - b)),
    [](EvalContext& c) {
      return evaluateArithmetic(
          c, [](double a, double b) { return a - b; },
          [](int64_t a, int64_t b) { return wrap(bits(a) - bits(b)); });
    },
    lowerPair<BinaryOp::sub>);
DYN_PAIR_ROW(
    mul, "a * b", "f32", arithmetic, kNone, DYN_INFER(kNumbers, false, DYN_CONTENTS(a* b)),
    [](EvalContext& c) {
      return evaluateArithmetic(
          c, [](double a, double b) { return a * b; },
          [](int64_t a, int64_t b) { return wrap(bits(a) * bits(b)); });
    },
    lowerPair<BinaryOp::mul>);
DYN_PAIR_ROW(
    div, "a / b; integers truncate toward zero", "f32", quotient, kNone,
    DYN_INFER(kNumbers, false, contentsDiv),
    [](EvalContext& c) {
      return evaluateArithmetic(
          c, [](double a, double b) { return a / b; }, divideSigned, divideNatural, true);
    },
    lowerPair<BinaryOp::div>, .operandRules = kDivisorRules);
DYN_PAIR_ROW(mod, "the remainder of a / b", "i64", quotient, kModAttributes, inferMod, evaluateMod, lowerMod,
             .operandRules = kDivisorRules);
DYN_PAIR_ROW(pow, "a to the power b; the exponent may have another element type", "f32", function, kNone,
             inferPow, evaluatePow, lowerPow);
DYN_PAIR_ROW(
    min, "the smaller of a and b; NaN if either is", "f32", arithmetic, kNone,
    DYN_INFER(kNumbers, false, DYN_CONTENTS(dyn::min(a, b))),
    [](EvalContext& c) {
      return evaluateArithmetic(
          c, minReal, [](int64_t a, int64_t b) { return std::min(a, b); },
          [](int64_t a, int64_t b) { return wrap(std::min(bits(a), bits(b))); });
    },
    lowerPair<BinaryOp::min>);
DYN_PAIR_ROW(
    max, "the larger of a and b; NaN if either is", "f32", arithmetic, kNone,
    DYN_INFER(kNumbers, false, DYN_CONTENTS(dyn::max(a, b))),
    [](EvalContext& c) {
      return evaluateArithmetic(
          c, maxReal, [](int64_t a, int64_t b) { return std::max(a, b); },
          [](int64_t a, int64_t b) { return wrap(std::max(bits(a), bits(b))); });
    },
    lowerPair<BinaryOp::max>);

#define DYN_COMPARE(sign)                                                                              \
  [](EvalContext& c) {                                                                                 \
    return evaluateCompare(                                                                            \
        c, [](double a, double b) { return a sign b; }, [](int64_t a, int64_t b) { return a sign b; }, \
        [](uint64_t a, uint64_t b) { return a sign b; });                                              \
  }
DYN_PAIR_ROW(equal, "a == b", "f32", arithmetic, kNone, DYN_INFER(kEqualable, true, contentsEqual),
             DYN_COMPARE(==), lowerPair<BinaryOp::equal>, .builtin = calling<calls::StringEqual>,
             .builtinTakes = holdStrings);
DYN_PAIR_ROW(less, "a < b", "f32", arithmetic, kNone, DYN_INFER(kComparable, true, contentsLess),
             DYN_COMPARE(<), lowerPair<BinaryOp::less>);
DYN_PAIR_ROW(less_equal, "a <= b", "f32", arithmetic, kNone, DYN_INFER(kComparable, true, contentsLessEqual),
             DYN_COMPARE(<=), lowerPair<BinaryOp::lessEqual>);
DYN_PAIR_ROW(greater, "a > b", "f32", arithmetic, kNone,
             DYN_INFER(kComparable, true,
                       [](const InferContext& c, Dim a, Dim b) { return contentsLess(c, b, a); }),
             DYN_COMPARE(>), lowerSwapped<BinaryOp::less>);
DYN_PAIR_ROW(greater_equal, "a >= b", "f32", arithmetic, kNone,
             DYN_INFER(kComparable, true,
                       [](const InferContext& c, Dim a, Dim b) { return contentsLessEqual(c, b, a); }),
             DYN_COMPARE(>=), lowerSwapped<BinaryOp::lessEqual>);

#define DYN_INTEGERS(expression)                                                                       \
  [](EvalContext& c) {                                                                                 \
    return evaluateArithmetic(c, nullptr, [](int64_t a, int64_t b) -> int64_t { return expression; }); \
  }
DYN_PAIR_ROW(logical_and, "a and b", "bool", arithmetic, kNone,
             DYN_INFER(kBooleans, false, contentsLogical<0>), DYN_INTEGERS(a&& b),
             lowerPair<BinaryOp::logicalAnd>);
DYN_PAIR_ROW(logical_or, "a or b", "bool", arithmetic, kNone, DYN_INFER(kBooleans, false, contentsLogical<1>),
             DYN_INTEGERS(a || b), lowerPair<BinaryOp::logicalOr>);
DYN_PAIR_ROW(logical_xor, "one of a and b, not both", "bool", arithmetic, kNone,
             DYN_INFER(kBooleans, false, contentsLogical<2>), DYN_INTEGERS((a != 0) != (b != 0)),
             lowerPair<BinaryOp::logicalXor>);
DYN_PAIR_ROW(bit_and, "bits set in both", "u8", arithmetic, kNone, DYN_INFER(kIntegers, false, nullptr),
             DYN_INTEGERS(a& b), lowerPair<BinaryOp::bitAnd>);
DYN_PAIR_ROW(bit_or, "bits set in either", "u8", arithmetic, kNone, DYN_INFER(kIntegers, false, nullptr),
             DYN_INTEGERS(a | b), lowerPair<BinaryOp::bitOr>);
DYN_PAIR_ROW(bit_xor, "bits set in one", "u8", arithmetic, kNone, DYN_INFER(kIntegers, false, nullptr),
             DYN_INTEGERS(a ^ b), lowerPair<BinaryOp::bitXor>);

const OpDef bit_shiftOp{
    .name = "bit_shift",
    .summary = "a shifted by b bits; by the width or more: 0",
    .cls = OpClass::elementwise,
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kShiftAttributes,
    .infer = inferShift,
    .evaluate = evaluateShift,
    .lowering = LoweringKind::loops,
    .lower = lowerShift,
    .doc = "[...a], [...b] -> broadcast(a, b)",
    .example =
        "fn @main(%a: Tensor[(n), u8], %b: Tensor[(n), u8]) { %y = bit_shift(%a, %b) {direction = \"left\"} "
        "return %y }",
};

}  // namespace ops
}  // namespace dyn
