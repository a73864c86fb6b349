// log, log1p, and what is made of them: asinh, acosh, atanh.
#include <limits>

#include "compiler/codegen/math/vector_math_parts.h"

namespace dyn {

using llvm::Value;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ln 2 in two parts, the first with so many zero bits at its end that e times it is exact.
constexpr double kLogFloatLn2 = 0x1.62e4p-1, kLogFloatLn2Rest = 0x1.62e42fefa39efp-1 - 0x1.62e4p-1;
constexpr double kLogLn2 = 0x1.62e42feep-1, kLogLn2Rest = 0x1.a39ef35793c76p-33;

// log(1 + f) = f - f^2/2 + f^3 P(f).
Value* logOfFloat(MathParts& m, const MathParts::Scaled& x) {
  llvm::IRBuilderBase& b = m.b;
  Value *f = x.f, *e = x.e;
  Value* p = m.polynomial(f, {0x1.555554p-2, -0x1.000228p-2, 0x1.99a008p-3, -0x1.547244p-3, 0x1.22da22p-3,
                              -0x1.0d8552p-3, 0x1.055b46p-3, -0x1.38b4ccp-4});
  Value* square = b.CreateFMul(f, f);
  Value* tail = b.CreateFMul(b.CreateFMul(p, f), square);
  tail = m.multiplyAdd(e, m.number(f, kLogFloatLn2Rest), tail);
  tail = m.multiplyAdd(square, m.number(f, -0.5), tail);
  return m.multiplyAdd(e, m.number(f, kLogFloatLn2), b.CreateFAdd(f, tail));
}

// With s = f / (2 + f): log(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + s^2 P(s^2))), |s| <= 0.172.
Value* logOfDouble(MathParts& m, const MathParts::Scaled& x) {
  llvm::IRBuilderBase& b = m.b;
  Value *f = x.f, *e = x.e;
  Value* s = b.CreateFDiv(f, b.CreateFAdd(f, m.number(f, 2.0)));
  Value* z = b.CreateFMul(s, s);
  Value* p =
      m.polynomial(z, {0x1.5555555555566p-1, 0x1.999999998c72bp-2, 0x1.24924937fe9d8p-2, 0x1.c71c596992cbcp-3,
                       0x1.7464d831c8a4ap-3, 0x1.39c3915b5baf1p-3, 0x1.2dc3ae82283dp-3});
  Value* half = b.CreateFMul(b.CreateFMul(f, f), m.number(f, 0.5));
  Value* tail = b.CreateFMul(s, m.multiplyAdd(z, p, half));
  tail = m.multiplyAdd(e, m.number(f, kLogLn2Rest), tail);
  return m.multiplyAdd(e, m.number(f, kLogLn2), b.CreateFAdd(f, b.CreateFSub(tail, half)));
}

// log(1 + y) of doubles y >= -1/2 as exact as a float result needs.
Value* roughLogOnePlus(MathParts& m, Value* y) {
  llvm::IRBuilderBase& b = m.b;
  Value* usual =
      b.CreateFMul(emitWideLog2(m, b.CreateFAdd(y, m.number(y, 1.0))), m.number(y, 0.693147180559945309));
  usual = m.choose(b.CreateFCmpOLT(y, m.number(y, kInfinity)), usual, y);
  return m.choose(b.CreateFCmpOLT(m.absolute(y), m.number(y, 0x1p-27)), y, usual);
}

}  // namespace

Value* emitLog(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const MathParts::Scaled parts = m.splitAtSqrtHalf(x);
  Value* result = m.isSingle(x) ? logOfFloat(m, parts) : logOfDouble(m, parts);
  // Infinity and NaN come back as they are; a negative x gives NaN, zero gives -infinity.
  result = b.CreateSelect(b.CreateFCmpULT(x, m.number(x, kInfinity)), result, x);
  result = b.CreateSelect(b.CreateFCmpOLT(x, m.number(x, 0.0)),
                          m.number(x, std::numeric_limits<double>::quiet_NaN()), result);
  result = b.CreateSelect(b.CreateFCmpOEQ(x, m.number(x, 0.0)), m.number(x, -kInfinity), result);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, result);
}

// With u = 1 + x rounded: log(u) + (x - (u - 1)) / u, where the second term is what rounding took, to first
// order.
Value* emitLogOnePlus(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  Value* one = m.number(x, 1.0);
  Value* u = b.CreateFAdd(x, one);
  Value* lost = b.CreateFDiv(b.CreateFSub(x, b.CreateFSub(u, one)), u);
  Value* usual =
      b.CreateAnd(b.CreateFCmpOGT(u, m.number(x, 0.0)), b.CreateFCmpOLT(u, m.number(x, kInfinity)));
  Value* result = b.CreateFAdd(emitLog(m, u), m.choose(usual, lost, m.number(x, 0.0)));
  // Keeps -0 and denormals.
  Value* isTiny = b.CreateFCmpOLT(m.absolute(x), m.number(x, m.isSingle(x) ? 0x1p-26 : 0x1p-55));
  return m.choose(isTiny, x, result);
}

// asinh|x| = log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))); acosh(1 + t) = log1p(t + sqrt(t^2 + 2t)); atanh|x| =
// log1p(2|x| / (1 - |x|)) / 2. Of float lanes in double, so that one rounding is left.
Value* emitArea(MathParts& m, Value* x, Area which) {
  llvm::IRBuilderBase& b = m.b;
  const bool single = m.isSingle(x);
  Value* wide = single ? m.toDouble(x) : x;
  Value *size = m.absolute(wide), *one = m.number(wide, 1.0), *two = m.number(wide, 2.0);
  auto root = [&](Value* v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v); };
  auto logOnePlus = [&](Value* v) { return single ? roughLogOnePlus(m, v) : emitLogOnePlus(m, v); };
  if (which == Area::tangent) {
    // Beyond 1 the quotient is below -1 and its logarithm NaN; roughLogOnePlus is not asked for it.
    Value* y = b.CreateFDiv(b.CreateFMul(size, two), b.CreateFSub(one, size));
    Value* result = b.CreateFMul(logOnePlus(y), m.number(wide, 0.5));
    result = m.choose(b.CreateFCmpOGT(size, one), m.number(wide, std::numeric_limits<double>::quiet_NaN()),
                      result);
    result = m.withSignOf(result, wide);
    return single ? m.toFloat(result) : result;
  }
  // Where the square overflows (in double) what is added no longer counts.
  Value* isLarge = b.CreateFCmpOGT(size, m.number(wide, 0x1p500));
  Value* y;
  if (which == Area::sine) {
    Value* square = b.CreateFMul(size, size);
    Value* bottom = b.CreateFAdd(root(b.CreateFAdd(square, one)), one);
    y = b.CreateFAdd(b.CreateFDiv(square, bottom), size);
  } else {
    Value* t = b.CreateFSub(wide, one);
    y = b.CreateFAdd(root(b.CreateFMul(t, b.CreateFAdd(t, two))), t);
  }
  Value* result = logOnePlus(m.choose(isLarge, size, y));
  result = b.CreateFAdd(result, m.choose(isLarge, m.number(wide, 0.693147180559945309), m.number(wide, 0.0)));
  if (which == Area::sine) {
    // A NaN stays one; so does the sign of everything else.
    result = m.withSignOf(result, wide);
  } else {
    result = m.choose(b.CreateFCmpULT(wide, one), m.number(wide, std::numeric_limits<double>::quiet_NaN()),
                      result);
  }
  result = m.choose(b.CreateFCmpUNO(wide, wide), wide, result);
  return single ? m.toFloat(result) : result;
}

}  // namespace dyn
