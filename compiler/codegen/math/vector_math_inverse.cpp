// asin, acos, atan.
#include "compiler/codegen/math/vector_math_parts.h"

namespace dyn {

using llvm::Value;

namespace {

constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c07p-54;

// pi/2 in two numbers of x's type.
struct Pair {
  double high, rest;
};
Pair halfPi(MathParts& m, Value* x) {
  if (!m.isSingle(x)) return {kHalfPi, kHalfPiRest};
  const auto high = static_cast<double>(static_cast<float>(kHalfPi));
  return {high, kHalfPi - high};
}

// asin(s) = s + s z P(z), z = s^2 <= 1/4. For |x| > 1/2: asin|x| = pi/2 - 2 asin(sqrt((1 - |x|) / 2)), where
// z is exact.
struct HalfAngle {
  Value *isBig, *angle;  // of s, which is >= 0
};

HalfAngle halfAngle(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  Value* size = m.absolute(x);
  Value* isBig = b.CreateFCmpOGT(size, m.number(x, 0.5));
  Value* half = m.number(x, 0.5);
  Value* rest = b.CreateFSub(half, b.CreateFMul(size, half));  // negative beyond 1: its root is NaN
  Value* z = m.choose(isBig, rest, b.CreateFMul(size, size));
  Value* s = m.choose(isBig, b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, rest), size);
  Value* p =
      m.isSingle(x)
          ? m.polynomial(z, {0x1.5555c2p-3, 0x1.330358p-4, 0x1.74618ep-5, 0x1.8d12a4p-6, 0x1.58c3d8p-5})
          : m.polynomial(
                z, {0x1.5555555555568p-3, 0x1.333333332f93dp-4, 0x1.6db6db7124b6cp-5, 0x1.f1c71ae1a5bb4p-6,
                    0x1.6e8bd76d827afp-6, 0x1.1c4a687cde8e1p-6, 0x1.ca1551a3087cbp-7, 0x1.75d27b62c4bcfp-7,
                    0x1.5facf6f99abf7p-7, 0x1.fbf57b750d1fp-9, 0x1.5d5566fa66f59p-6, -0x1.4f9d6277a342ap-6,
                    0x1.08cc061f982c9p-5});
  return {isBig, m.multiplyAdd(b.CreateFMul(s, z), p, s)};
}

}  // namespace

Value* emitArcSine(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const HalfAngle h = halfAngle(m, x);
  const Pair quarterTurn = halfPi(m, x);
  // pi/2 - 2 angle, the rest of pi/2 added to the small one.
  Value* twice = m.multiplyAdd(h.angle, m.number(x, -2.0), m.number(x, quarterTurn.rest));
  Value* big = b.CreateFAdd(m.number(x, quarterTurn.high), twice);
  return m.withSignOf(m.choose(h.isBig, big, h.angle), x);
}

Value* emitArcCosine(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const HalfAngle h = halfAngle(m, x);
  const Pair quarterTurn = halfPi(m, x);
  Value* negative = b.CreateFCmpOLT(x, m.number(x, 0.0));
  Value* twice = b.CreateFMul(h.angle, m.number(x, 2.0));
  Value* away =
      b.CreateFSub(m.number(x, 2 * quarterTurn.high), b.CreateFSub(twice, m.number(x, 2 * quarterTurn.rest)));
  Value* big = m.choose(negative, away, twice);
  Value* offset = b.CreateFSub(m.withSignOf(h.angle, x), m.number(x, quarterTurn.rest));
  return m.choose(h.isBig, big, b.CreateFSub(m.number(x, quarterTurn.high), offset));
}

// atan|x| = base + atan(t), |t| <= tan(pi/8): t = x, (x - 1) / (x + 1) or -1 / x by where |x| lies; one
// division serves all.
Value* emitArcTangent(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const Pair quarterTurn = halfPi(m, x);
  Value *size = m.absolute(x), *one = m.number(x, 1.0), *zero = m.number(x, 0.0);
  Value* isMiddle = b.CreateFCmpOGT(size, m.number(x, 0.41421356237309503));
  Value* isLarge = b.CreateFCmpOGT(size, m.number(x, 2.4142135623730949));
  Value* top = m.choose(isLarge, m.number(x, -1.0), m.choose(isMiddle, b.CreateFSub(size, one), size));
  Value* bottom = m.choose(isLarge, size, m.choose(isMiddle, b.CreateFAdd(size, one), one));
  Value* t = b.CreateFDiv(top, bottom);
  auto base = [&](double whole) {
    return m.choose(isLarge, m.number(x, whole), m.choose(isMiddle, m.number(x, whole / 2), zero));
  };
  Value* z = b.CreateFMul(t, t);
  Value* p =
      m.isSingle(x)
          ? m.polynomial(z, {-0x1.55554ap-2, 0x1.999224p-3, -0x1.23be12p-3, 0x1.b2607cp-4, -0x1.f4003ap-5})
          : m.polynomial(z, {-0x1.5555555555555p-2, 0x1.999999999978cp-3, -0x1.249249247d6bfp-3,
                             0x1.c71c71ba95955p-4, -0x1.745d1520f75c5p-4, 0x1.3b137640c510bp-4,
                             -0x1.110cddef5f666p-4, 0x1.e179730efda9bp-5, -0x1.aba97fdda941bp-5,
                             0x1.7192b89a267c9p-5, -0x1.139e48055316cp-5, 0x1.f73c42e0ba207p-7});
  Value* tail = m.multiplyAdd(b.CreateFMul(t, z), p, base(quarterTurn.rest));
  return m.withSignOf(b.CreateFAdd(base(quarterTurn.high), b.CreateFAdd(t, tail)), x);
}

}  // namespace dyn
