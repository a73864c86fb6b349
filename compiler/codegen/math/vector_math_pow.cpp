// pow: of float lanes in double, of double lanes in pairs of doubles.
#include <limits>

#include "compiler/codegen/math/vector_math_parts.h"

namespace dyn {

using llvm::Value;

// e + 2/ln 2 * atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
Value* emitWideLog2(MathParts& m, Value* wide) {
  llvm::IRBuilderBase& b = m.b;
  constexpr int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
  Value* offset = b.CreateSub(m.bits(wide), m.integer(wide, kSqrtHalfBits));
  // The exponent fits in the upper half: shift logically and cut, as 64-bit arithmetic shifts and conversions
  // are slow before AVX-512.
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

namespace {

// 2^x of double lanes, |x| <= 1000, to about 2^-40: Taylor's series of exp on |r| <= ln 2 / 2.
Value* wideExp2(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  MathParts::Whole n = m.nearest(x);
  Value* r = b.CreateFMul(b.CreateFSub(x, n.asFloat), m.number(x, 0.693147180559945309));
  Value* p = m.polynomial(r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                              1.0 / 40320, 1.0 / 362880, 1.0 / 3628800});
  return b.CreateFMul(p, m.powerOfTwo(n.asInteger, x->getType()));
}

// |x|^y = 2^(y log2 |x|) of float lanes, which leaves one rounding to float. x is positive and finite.
Value* powerOfFloat(MathParts& m, Value* x, Value* y) {
  // Denormal floats are normal doubles.
  Value* product = m.b.CreateFMul(m.toDouble(y), emitWideLog2(m, m.toDouble(x)));
  return m.toFloat(wideExp2(m, m.atLeast(m.atMost(product, 1000.0), -1000.0)));
}

// --- double lanes: numbers as sums of two doubles, the second at most half a unit of the first's last place

struct Sum {
  Value *high, *low;
};

// Exact, where |a| >= |b| or a is 0.
Sum sumOf(MathParts& m, Value* a, Value* b) {
  Value* high = m.b.CreateFAdd(a, b);
  return {high, m.b.CreateFAdd(m.b.CreateFSub(a, high), b)};
}

// The upper 26 bits: products of two such are exact.
Value* upperBits(MathParts& m, Value* x) {
  return m.b.CreateBitCast(m.b.CreateAnd(m.bits(x), m.integer(x, -(int64_t{1} << 27))), x->getType());
}

// Exact: the same on machines with FMA and without.
Sum productOf(MathParts& m, Value* x, Value* y) {
  llvm::IRBuilderBase& b = m.b;
  Value *xHigh = upperBits(m, x), *yHigh = upperBits(m, y);
  Value *xLow = b.CreateFSub(x, xHigh), *yLow = b.CreateFSub(y, yHigh);
  Value* high = b.CreateFMul(x, y);
  Value* low = b.CreateFSub(b.CreateFMul(xHigh, yHigh), high);
  low = b.CreateFAdd(low, b.CreateFMul(xHigh, yLow));
  low = b.CreateFAdd(low, b.CreateFMul(xLow, yHigh));
  return {high, b.CreateFAdd(low, b.CreateFMul(xLow, yLow))};
}

Sum productOf(MathParts& m, const Sum& x, const Sum& y) {
  Sum product = productOf(m, x.high, y.high);
  Value* cross = m.multiplyAdd(x.high, y.low, m.b.CreateFMul(x.low, y.high));
  product.low = m.b.CreateFAdd(product.low, cross);
  return product;
}

// log(1 + f) = s (2 + z (2/3 + z (2/5 + 2/7 z + ...))), s = f / (2 + f), z = s^2 <= 0.0295: to about 2^-64.
Sum logOnePlusOf(MathParts& m, Value* f) {
  llvm::IRBuilderBase& b = m.b;
  Value* two = m.number(f, 2.0);
  const Sum bottom = sumOf(m, two, f);
  Sum s{b.CreateFDiv(f, bottom.high), nullptr};
  const Sum back = productOf(m, s.high, bottom.high);
  Value* rest = b.CreateFSub(b.CreateFSub(f, back.high), back.low);
  s.low = b.CreateFDiv(b.CreateFSub(rest, b.CreateFMul(s.high, bottom.low)), bottom.high);
  const Sum z = productOf(m, s, s);
  Value* tail = m.polynomial(z.high, {2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                      2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25, 2.0 / 27});
  Sum third = sumOf(m, m.number(f, 2.0 / 3), b.CreateFMul(z.high, tail));
  third.low = b.CreateFAdd(third.low, m.number(f, 0x1.5555555555555p-55));  // 2/3 - its double
  const Sum small = productOf(m, z, third);
  Sum factor = sumOf(m, two, small.high);
  factor.low = b.CreateFAdd(factor.low, small.low);
  return productOf(m, s, factor);
}

Value* powerOfDouble(MathParts& m, Value* x, Value* y) {
  llvm::IRBuilderBase& b = m.b;
  const MathParts::Scaled parts = m.splitAtSqrtHalf(x);
  const Sum near = logOnePlusOf(m, parts.f);
  // e times the first part of ln 2 is exact.
  Sum logarithm = sumOf(m, b.CreateFMul(parts.e, m.number(x, 0x1.62e42feep-1)), near.high);
  Value* small = m.multiplyAdd(parts.e, m.number(x, 0x1.a39ef35793c76p-33), near.low);
  // What ln 2 has after its first part is not small: into the sum's own first part, so that all later low
  // parts are.
  logarithm = sumOf(m, logarithm.high, b.CreateFAdd(logarithm.low, small));
  const Sum product = productOf(m, y, logarithm.high);
  Value* low = b.CreateFAdd(product.low, b.CreateFMul(y, logarithm.low));
  // Beyond the range of exp the second part is nothing, or not even a number.
  Value* usual = b.CreateFCmpOLT(m.absolute(product.high), m.number(x, 800.0));
  return emitExpOfSum(m, product.high, m.choose(usual, low, m.number(x, 0.0)));
}

}  // namespace

// Signs and special cases after C's Annex F.
Value* emitPow(MathParts& m, Value* x, Value* y) {
  llvm::IRBuilderBase& b = m.b;
  const double infinity = std::numeric_limits<double>::infinity();
  Value *zero = m.number(x, 0.0), *one = m.number(x, 1.0);
  Value* magnitude = m.absolute(x);
  Value* finite =
      b.CreateAnd(b.CreateFCmpOGT(magnitude, zero), b.CreateFCmpOLT(magnitude, m.number(x, infinity)));
  Value* usual = m.choose(finite, magnitude, one);
  Value* result = m.isSingle(x) ? powerOfFloat(m, usual, y) : powerOfDouble(m, usual, y);

  // 0 and infinity: y > 0 keeps them, y < 0 swaps them.
  Value* extreme = b.CreateXor(b.CreateFCmpOEQ(magnitude, zero), b.CreateFCmpOLT(y, zero));
  Value* special = b.CreateSelect(extreme, zero, m.number(x, infinity));
  result = b.CreateSelect(finite, result, special);

  // Sign: y odd. A float of 2^24 and more (a double of 2^53) is even; below that, half of an odd y has a
  // fraction.
  auto truncated = [&](Value* v) {
    return b.CreateSIToFP(b.CreateFPToSI(v, m.integerType(v)), v->getType());
  };
  Value* large = b.CreateFCmpUGE(m.absolute(y), m.number(y, m.isSingle(y) ? 0x1p24 : 0x1p53));
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
