// exp, log, sigmoid, pow.
#include <limits>

#include "compiler/codegen/vector_math_parts.h"

namespace dyn {

using llvm::Value;

// exp(x) = 2^n exp(r), n = nearest(x / ln 2), |r| <= ln 2 / 2. ln 2 in two parts, the first with 15 zero bits at its end, so that n times
// it is exact without FMA as well.
Value* emitExp(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  x = m.atLeast(m.atMost(x, 89.0), -104.0);  // beyond: infinity, and below half the least denormal
  MathParts::Whole n = m.nearest(b.CreateFMul(x, m.number(x, 1.44269504088896341)));
  Value* r = m.multiplyAdd(n.asFloat, m.number(x, -0x1.62e4p-1), x);
  r = m.multiplyAdd(n.asFloat, m.number(x, -(0x1.62e42fefa39efp-1 - 0x1.62e4p-1)), r);
  Value* p = m.polynomial(r, {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.1239ep-7, 0x1.6a2436p-10});
  p = m.multiplyAdd(p, b.CreateFMul(r, r), r);
  return m.scale(b.CreateFAdd(p, m.number(x, 1.0)), n);
}

// log(x) = e ln 2 + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2), log(1 + f) = f - f^2/2 + f^3 P(f).
Value* emitLog(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  Value* denormal = b.CreateFCmpOLT(x, m.number(x, 0x1p-126));
  Value* normal = b.CreateSelect(denormal, b.CreateFMul(x, m.number(x, 0x1p25)), x);
  // Subtracting the bits of sqrt(1/2) first makes the exponent change at sqrt(1/2), not at 1.
  constexpr int64_t kSqrtHalfBits = 0x3f3504f3;
  Value* offset = b.CreateSub(m.bits(normal), m.integer(x, kSqrtHalfBits));
  Value* exponent = b.CreateAShr(offset, m.integer(x, 23));
  Value* mantissa = b.CreateAdd(b.CreateAnd(offset, m.integer(x, 0x7fffff)), m.integer(x, kSqrtHalfBits));
  Value* f = b.CreateFSub(b.CreateBitCast(mantissa, x->getType()), m.number(x, 1.0));
  Value* e = b.CreateSIToFP(exponent, x->getType());
  e = b.CreateFSub(e, b.CreateSelect(denormal, m.number(x, 25.0), m.number(x, 0.0)));

  Value* p = m.polynomial(f, {0x1.555554p-2, -0x1.000228p-2, 0x1.99a008p-3, -0x1.547244p-3, 0x1.22da22p-3,
                              -0x1.0d8552p-3, 0x1.055b46p-3, -0x1.38b4ccp-4});
  Value* square = b.CreateFMul(f, f);
  Value* tail = b.CreateFMul(b.CreateFMul(p, f), square);
  tail = m.multiplyAdd(e, m.number(x, 0x1.62e42fefa39efp-1 - 0x1.62e4p-1), tail);
  tail = m.multiplyAdd(square, m.number(x, -0.5), tail);
  Value* result = m.multiplyAdd(e, m.number(x, 0x1.62e4p-1), b.CreateFAdd(f, tail));

  const double infinity = std::numeric_limits<double>::infinity();
  // Infinity and NaN come back as they are; a negative x gives NaN, zero gives -infinity.
  result = b.CreateSelect(b.CreateFCmpULT(x, m.number(x, infinity)), result, x);
  result = b.CreateSelect(b.CreateFCmpOLT(x, m.number(x, 0.0)),
                          m.number(x, std::numeric_limits<double>::quiet_NaN()), result);
  result = b.CreateSelect(b.CreateFCmpOEQ(x, m.number(x, 0.0)), m.number(x, -infinity), result);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, result);
}

// With t = exp(-|x|): 1 / (1 + t) for x >= 0, else t / (1 + t). Nothing overflows, and small results keep their digits.
Value* emitSigmoid(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  Value* t = emitExp(m, b.CreateFNeg(m.absolute(x)));
  Value* top = b.CreateSelect(b.CreateFCmpOLT(x, m.number(x, 0.0)), t, m.number(x, 1.0));
  Value* result = b.CreateFDiv(top, b.CreateFAdd(m.number(x, 1.0), t));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, result);
}

namespace {

// log2 of float lanes >= 0 as double, to about 2^-45: e + 2/ln 2 * atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
Value* wideLog2(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  Value* wide = m.toDouble(x);  // float denormals are normal doubles
  constexpr int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
  Value* offset = b.CreateSub(m.bits(wide), m.integer(wide, kSqrtHalfBits));
  // The exponent fits in the upper half: shift logically and cut, as 64-bit arithmetic shifts and conversions are slow before AVX-512.
  llvm::Type* narrow = m.withElement(wide, b.getInt32Ty());
  Value* upper = b.CreateTrunc(b.CreateLShr(offset, m.integer(wide, 32)), narrow);
  Value* e = b.CreateSIToFP(b.CreateAShr(upper, llvm::ConstantInt::get(narrow, 20)), wide->getType());
  Value* mantissa =
      b.CreateAdd(b.CreateAnd(offset, m.integer(wide, 0xfffffffffffff)), m.integer(wide, kSqrtHalfBits));
  Value* value = b.CreateBitCast(mantissa, wide->getType());
  Value* one = m.number(wide, 1.0);
  Value* s = b.CreateFDiv(b.CreateFSub(value, one), b.CreateFAdd(value, one));
  // The series of atanh(s) / s in s^2, scaled by 2 / ln 2; the first term left out is 0.172^18 / 19 = 1e-15.
  constexpr double k = 2.88539008177792681;
  Value* p =
      m.polynomial(b.CreateFMul(s, s), {k, k / 3, k / 5, k / 7, k / 9, k / 11, k / 13, k / 15, k / 17});
  return m.multiplyAdd(p, s, e);
}

// 2^x of double lanes, |x| <= 1000, to about 2^-40: Taylor's series of exp on |r| <= ln 2 / 2.
Value* wideExp2(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  MathParts::Whole n = m.nearest(x);
  Value* r = b.CreateFMul(b.CreateFSub(x, n.asFloat), m.number(x, 0.693147180559945309));
  Value* p = m.polynomial(r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                              1.0 / 40320, 1.0 / 362880, 1.0 / 3628800});
  return b.CreateFMul(p, m.powerOfTwo(n.asInteger, x->getType()));
}

}  // namespace

// |x|^y = 2^(y log2 |x|) in double, which leaves one rounding to float; signs and special cases after C's Annex F.
Value* emitPow(MathParts& m, Value* x, Value* y) {
  llvm::IRBuilderBase& b = m.b;
  const double infinity = std::numeric_limits<double>::infinity();
  Value *zero = m.number(x, 0.0), *one = m.number(x, 1.0);
  Value* magnitude = m.absolute(x);
  Value* finite =
      b.CreateAnd(b.CreateFCmpOGT(magnitude, zero), b.CreateFCmpOLT(magnitude, m.number(x, infinity)));
  Value* logarithm = wideLog2(m, b.CreateSelect(finite, magnitude, one));
  Value* product = b.CreateFMul(m.toDouble(y), logarithm);
  product = m.atLeast(m.atMost(product, 1000.0), -1000.0);
  Value* result = m.toFloat(wideExp2(m, product));

  // 0 and infinity: y > 0 keeps them, y < 0 swaps them.
  Value* extreme = b.CreateXor(b.CreateFCmpOEQ(magnitude, zero), b.CreateFCmpOLT(y, zero));
  Value* special = b.CreateSelect(extreme, zero, m.number(x, infinity));
  result = b.CreateSelect(finite, result, special);

  // Sign: y odd. A float of 2^24 and more is even; below that, half of an odd y has a fraction.
  auto truncated = [&](Value* v) {
    return b.CreateSIToFP(b.CreateFPToSI(v, m.integerType(v)), v->getType());
  };
  Value* large = b.CreateFCmpUGE(m.absolute(y), m.number(y, 0x1p24));
  Value* small = b.CreateSelect(large, zero, y);  // never converts what does not fit
  Value* whole = b.CreateOr(large, b.CreateFCmpOEQ(truncated(small), small));
  Value* half = b.CreateFMul(small, m.number(y, 0.5));
  Value* odd = b.CreateAnd(whole, b.CreateFCmpONE(truncated(half), half));
  // The sign bit of x, -0 included.
  Value* negative = b.CreateICmpSLT(m.bits(x), m.integer(x, 0));
  result = b.CreateSelect(b.CreateAnd(negative, odd), b.CreateFNeg(result), result);
  Value* domain = b.CreateAnd(b.CreateAnd(b.CreateFCmpOLT(x, zero), finite), b.CreateNot(whole));
  Value* nan = m.number(x, std::numeric_limits<double>::quiet_NaN());
  result = b.CreateSelect(domain, nan, result);
  result = b.CreateSelect(b.CreateFCmpUNO(x, y), nan, result);
  // 1^anything, anything^0 and (-1)^(+-infinity) are 1, even with NaN.
  Value* infiniteY = b.CreateFCmpOEQ(m.absolute(y), m.number(y, infinity));
  Value* unit = b.CreateOr(b.CreateOr(b.CreateFCmpOEQ(x, one), b.CreateFCmpOEQ(y, zero)),
                           b.CreateAnd(b.CreateFCmpOEQ(magnitude, one), infiniteY));
  return b.CreateSelect(unit, one, result);
}

}  // namespace dyn
