// exp, and what is made of it: expm1, sigmoid, sinh, cosh.
#include "compiler/codegen/math/vector_math_parts.h"

namespace dyn {

using llvm::Value;

namespace {

// e^x = 2^n (1 + p), n = nearest(x / ln 2), p = expm1(r), |r| <= ln 2 / 2. ln 2 stands in two parts, the
// first with zero bits at its end, so that n times it is exact without FMA as well. x is at most a little
// beyond where the results end.
struct Reduced {
  MathParts::Whole n;
  Value* p;
};

constexpr double kFloatLn2 = 0x1.62e4p-1, kFloatLn2Rest = 0x1.62e42fefa39efp-1 - 0x1.62e4p-1;
constexpr double kLn2 = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;

// (e^r - 1 - r) / r^2.
Value* quadraticTail(MathParts& m, Value* r) {
  if (m.isSingle(r))
    return m.polynomial(r, {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.1239ep-7, 0x1.6a2436p-10});
  return m.polynomial(
      r, {0x1p-1, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f6b2p-7, 0x1.6c16c16c14445p-10,
          0x1.a01a01afe5442p-13, 0x1.a01a01b0bbb7ap-16, 0x1.71ddf8503c216p-19, 0x1.27e4c595c9ddbp-22,
          0x1.af5ec987258c1p-26, 0x1.1f95752cf8658p-29});
}

Reduced reduced(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const MathParts::Whole n = m.nearest(b.CreateFMul(x, m.number(x, 1.44269504088896341)));
  Value* r = m.multiplyAdd(n.asFloat, m.number(x, m.isSingle(x) ? -kFloatLn2 : -kLn2), x);
  r = m.multiplyAdd(n.asFloat, m.number(x, m.isSingle(x) ? -kFloatLn2Rest : -kLn2Rest), r);
  return {n, m.multiplyAdd(quadraticTail(m, r), b.CreateFMul(r, r), r)};
}

// 2^(n - 2): a quarter keeps everything finite whose half is.
Value* quarter(MathParts& m, const Reduced& e) {
  llvm::IRBuilderBase& b = m.b;
  Value* two = llvm::ConstantInt::get(e.n.asInteger->getType(), 2);
  return m.powerOfTwo(b.CreateSub(e.n.asInteger, two), e.p->getType());
}

// (e^x - 1) / 4.
Value* quarterOfExpMinusOne(MathParts& m, const Reduced& e) {
  Value* scale = quarter(m, e);
  return m.multiplyAdd(scale, e.p, m.b.CreateFSub(scale, m.number(scale, 0.25)));
}

// Where |x| is smaller than this, x + x^2 and the like round to x; also keeps -0 and denormals as they are.
Value* isTiny(MathParts& m, Value* x) {
  return m.b.CreateFCmpOLT(m.absolute(x), m.number(x, m.isSingle(x) ? 0x1p-30 : 0x1p-60));
}

}  // namespace

Value* emitExp(MathParts& m, Value* x) {
  const bool single = m.isSingle(x);
  // Beyond: infinity, and below half the least denormal.
  const Reduced e = reduced(m, m.atLeast(m.atMost(x, single ? 89.0 : 710.0), single ? -104.0 : -746.0));
  return m.scaleOnePlus(e.p, e.n);
}

// As exp, but what each step rounds off is kept: powers that are doubles come out exactly.
Value* emitExpOfSum(MathParts& m, Value* high, Value* low) {
  llvm::IRBuilderBase& b = m.b;
  Value* x = m.atLeast(m.atMost(high, 710.0), -746.0);
  const MathParts::Whole n = m.nearest(b.CreateFMul(x, m.number(x, 1.44269504088896341)));
  Value* first = m.multiplyAdd(n.asFloat, m.number(x, -kLn2), x);
  Value* step = b.CreateFMul(n.asFloat, m.number(x, kLn2Rest));
  Value* r = b.CreateFSub(first, step);
  Value* rest = b.CreateFAdd(b.CreateFSub(b.CreateFSub(first, r), step), low);
  Value* one = m.number(x, 1.0);
  Value* sum = b.CreateFAdd(one, r);
  Value* lost = b.CreateFAdd(b.CreateFSub(one, sum), r);
  Value* quadratic = b.CreateFMul(b.CreateFMul(r, r), quadraticTail(m, r));
  Value* tail = m.multiplyAdd(rest, b.CreateFAdd(sum, quadratic), quadratic);
  return m.scale(b.CreateFAdd(sum, b.CreateFAdd(lost, tail)), n);
}

Value* emitExpMinusOne(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const bool single = m.isSingle(x);
  // Below the lower limit the result rounds to -1.
  const Reduced e = reduced(m, m.atLeast(m.atMost(x, single ? 89.0 : 710.0), single ? -18.0 : -40.0));
  return m.choose(isTiny(m, x), x, b.CreateFMul(quarterOfExpMinusOne(m, e), m.number(x, 4.0)));
}

// 1 / (1 + e^-x) = c / (c + c e^-x). The small power c keeps c e^-x finite and a normal number for every x
// whose result is neither 0 nor 1. So only the division rounds where the result is denormal.
Value* emitSigmoid(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const bool single = m.isSingle(x);
  Value* inside = m.atLeast(m.atMost(x, single ? 30.0 : 60.0), single ? -104.0 : -746.0);
  const Reduced e = reduced(m, b.CreateFNeg(inside));
  llvm::Constant* down = llvm::ConstantInt::get(e.n.asInteger->getType(), single ? 64 : 512);
  Value* power = m.powerOfTwo(b.CreateSub(e.n.asInteger, down), x->getType());
  Value* c = m.number(x, single ? 0x1p-64 : 0x1p-512);
  return b.CreateFDiv(c, b.CreateFAdd(m.multiplyAdd(power, e.p, power), c));
}

// sinh = (E + E / (E + 1)) / 2 with E = expm1 |x|, which keeps the digits of small results; cosh = (e^|x| +
// e^-|x|) / 2.
Value* emitHyperbolic(MathParts& m, Value* x, Hyperbolic which) {
  llvm::IRBuilderBase& b = m.b;
  const Reduced e = reduced(m, m.atMost(m.absolute(x), m.isSingle(x) ? 89.5 : 710.5));
  Value* one = m.number(x, 1.0);
  if (which == Hyperbolic::cosine) {
    Value* grown = b.CreateFMul(quarter(m, e), b.CreateFAdd(e.p, one));
    Value* shrunk = b.CreateFDiv(m.number(x, 0.0625), grown);
    return b.CreateFMul(b.CreateFAdd(grown, shrunk), m.number(x, 2.0));
  }
  Value* grown = quarterOfExpMinusOne(m, e);
  Value* whole =
      m.multiplyAdd(grown, m.number(x, 4.0), one);  // infinity is as good as exact where it overflows
  Value* half = b.CreateFAdd(grown, b.CreateFDiv(grown, whole));
  return m.choose(isTiny(m, x), x, m.withSignOf(b.CreateFMul(half, m.number(x, 2.0)), x));
}

namespace {

// Of double lanes, by expm1(2|x|) = E: E / (E + 2).
Value* tanhOfDouble(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  Value* inside = m.atMost(m.absolute(x), 22.0);  // from there on it rounds to 1
  Value* e = emitExpMinusOne(m, b.CreateFMul(inside, m.number(x, 2.0)));
  Value* result = b.CreateFDiv(e, b.CreateFAdd(e, m.number(x, 2.0)));
  return m.choose(isTiny(m, x), x, m.withSignOf(result, x));
}

// Of double lanes: x P(x^2) up to 0.9; from there on 1 - e^(-x^2) Q(t), t = (|x| - 2) / (|x| + 2), which maps
// what is left to a short range.
Value* erfOfDouble(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  Value* size = m.atMost(m.absolute(x), 6.0);  // from there on it rounds to 1
  Value* square = b.CreateFMul(size, size);
  // 2 / sqrt(pi) - 1 stands first: x is added apart, for its last digit.
  Value* near = m.polynomial(
      square, {0x1.06eba8214db69p-3, -0x1.812746b0379e3p-2, 0x1.ce2f21a042833p-4, -0x1.b82ce31273627p-6,
               0x1.565bcd0a6d32ep-8, -0x1.c02db31ea7b18p-11, 0x1.f9a3075629cb1p-14, -0x1.f4cf6ed6cca82p-17,
               0x1.b9b85ce813639p-20, -0x1.5d8aa490ab848p-23, 0x1.e2da6a2fbedc7p-27, -0x1.d321fa05e7b7dp-31});
  near = m.multiplyAdd(size, near, size);
  Value* two = m.number(x, 2.0);
  Value* t = b.CreateFDiv(b.CreateFSub(size, two), b.CreateFAdd(size, two));
  Value* far = m.polynomial(
      t, {0x1.058671b52c776p-2, -0x1.b57034efd3f91p-2, 0x1.eeea7dc8a75f7p-3, -0x1.437f0b68ba284p-4,
          0x1.e94715a880ee2p-9, 0x1.ca95ed6997c38p-8, -0x1.bc25b1d6172b7p-11, -0x1.016b8f0229d51p-10,
          0x1.6d5cc9b079647p-15, 0x1.6dc89d5c10ab7p-13, 0x1.d14e7ad72e07bp-16, -0x1.ce91c97aa17c6p-16,
          -0x1.03ccae887c727p-16, -0x1.40cc4856f017ap-19});
  far = b.CreateFSub(m.number(x, 1.0), b.CreateFMul(far, emitExp(m, b.CreateFNeg(square))));
  Value* result = m.choose(b.CreateFCmpOGT(size, m.number(x, 0.9)), far, near);
  return m.withSignOf(result, x);
}

// Of float lanes: odd rational functions x P(x^2) / Q(x^2) on the range where results differ from 1. `limit`:
// from here on the result rounds to 1. Clamping x keeps NaN; the last min repairs a result rounded above 1.
Value* oddRational(MathParts& m, Value* x, double limit, std::initializer_list<double> top,
                   std::initializer_list<double> bottom) {
  llvm::IRBuilderBase& b = m.b;
  Value* inside = m.atLeast(m.atMost(x, limit), -limit);
  Value* square = b.CreateFMul(inside, inside);
  Value* numerator = b.CreateFMul(inside, m.polynomial(square, top));
  Value* quotient = b.CreateFDiv(numerator, m.polynomial(square, bottom));
  return m.atLeast(m.atMost(quotient, 1.0), -1.0);
}

}  // namespace

Value* emitTanh(MathParts& m, Value* x) {
  if (!m.isSingle(x)) return tanhOfDouble(m, x);
  return oddRational(m, x, 9.02,
                     {1.0, 0.136799157, 0.00386832794, 2.80074619e-05, 3.05850314e-08, -1.22034735e-11},
                     {1.0, 0.47013247, 0.0272458401, 0.000393863127, 1.28736679e-06});
}

Value* emitErf(MathParts& m, Value* x) {
  if (!m.isSingle(x)) return erfOfDouble(m, x);
  return oddRational(m, x, 3.93,
                     {1.12837911, 0.19078353, 0.0527902469, 0.00377959642, 0.000284808368, 2.04197363e-06},
                     {1.0, 0.502410233, 0.114257395, 0.0149974115, 0.00116520969, 3.8004091e-05});
}

}  // namespace dyn
