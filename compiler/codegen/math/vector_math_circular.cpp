// sin, cos and tan. The argument is reduced to x - n pi/2; lanes with |x| > 1e6 (rare: no activation or
// position code reaches it) go to libm; on a GPU to device_math.cpp.
#include "compiler/codegen/math/vector_math.h"
#include "compiler/codegen/math/vector_math_parts.h"

namespace dyn {

using llvm::Value;

namespace {

constexpr double kLargest = 1e6;

// r + rest = x - n pi/2, |r| <= pi/4; rest is null for floats.
struct Turned {
  Value *r, *rest;
  Value* quadrant;  // n, of which the last two bits count
};

// pi/2 in parts of 33 bits, so that n times the first ones is exact for n < 2^20.
constexpr double kFirst = 0x1.921fb544p+0, kSecond = 0x1.0b4611a6p-34, kThird = 0x1.3198a2e037073p-69;

Turned turned(MathParts& m, Value* x) {
  llvm::IRBuilderBase& b = m.b;
  const bool single = m.isSingle(x);
  Value* wide = single ? m.toDouble(x) : x;
  const MathParts::Whole n = m.nearest(b.CreateFMul(wide, m.number(wide, 0.636619772367581343)));
  Value* first = m.multiplyAdd(n.asFloat, m.number(wide, -kFirst), wide);
  if (single) {
    Value* r = m.multiplyAdd(n.asFloat, m.number(wide, -(kSecond + kThird)), first);
    return {m.toFloat(r), nullptr, b.CreateTrunc(n.asInteger, m.integerType(x))};
  }
  Value* step = b.CreateFMul(n.asFloat, m.number(x, kSecond));
  Value* second = b.CreateFSub(first, step);
  Value* lost = b.CreateFSub(b.CreateFSub(first, second), step);
  Value* last = m.multiplyAdd(n.asFloat, m.number(x, -kThird), lost);
  Value* r = b.CreateFAdd(second, last);
  return {r, b.CreateFAdd(b.CreateFSub(second, r), last), n.asInteger};
}

struct SineAndCosine {
  Value *sine, *cosine;
};

SineAndCosine ofReduced(MathParts& m, const Turned& x) {
  llvm::IRBuilderBase& b = m.b;
  Value* r = x.r;
  Value* square = b.CreateFMul(r, r);
  Value* half = m.multiplyAdd(square, m.number(r, -0.5), m.number(r, 1.0));
  if (!x.rest) {
    Value* sineTail = m.polynomial(square, {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00f76p-13, 0x1.6ccffap-19});
    Value* cosineTail = m.polynomial(square, {0x1.55554ap-5, -0x1.6c0c2cp-10, 0x1.99e928p-16});
    return {m.multiplyAdd(b.CreateFMul(square, r), sineTail, r),
            m.multiplyAdd(b.CreateFMul(square, square), cosineTail, half)};
  }
  Value* sineTail =
      m.polynomial(square, {-0x1.5555555555549p-3, 0x1.111111110f91bp-7, -0x1.a01a019c21fa1p-13,
                            0x1.71de3583d6983p-19, -0x1.ae5e6e92d0de9p-26, 0x1.5d952c8e1af94p-33});
  Value* cosineTail =
      m.polynomial(square, {0x1.555555555554cp-5, -0x1.6c16c16c1517ep-10, 0x1.a01a019cb1c7p-16,
                            -0x1.27e4f809f5d1bp-22, 0x1.1ee9ebebed98ep-29, -0x1.8fae9d9471695p-37});
  // To first order: sin(r + rest) = sin r + rest, cos(r + rest) = cos r - r rest.
  Value* sine = b.CreateFAdd(r, m.multiplyAdd(b.CreateFMul(square, r), sineTail, x.rest));
  // 1 - square / 2 rounded, and what that took.
  Value* halfSquare = b.CreateFMul(square, m.number(r, 0.5));
  Value* lost = b.CreateFSub(b.CreateFSub(m.number(r, 1.0), half), halfSquare);
  Value* small = m.multiplyAdd(b.CreateFMul(square, square), cosineTail, lost);
  Value* cosine = b.CreateFAdd(half, b.CreateFSub(small, b.CreateFMul(r, x.rest)));
  return {sine, cosine};
}

Value* ofTurned(MathParts& m, const Turned& t, Circular which) {
  llvm::IRBuilderBase& b = m.b;
  Value *quadrant = t.quadrant, *x = t.r;
  if (which == Circular::cosine) quadrant = b.CreateAdd(quadrant, m.integer(x, 1));
  const SineAndCosine both = ofReduced(m, t);
  Value* swap = b.CreateICmpNE(b.CreateAnd(quadrant, m.integer(x, 1)), m.integer(x, 0));
  Value* value = b.CreateSelect(swap, both.cosine, both.sine);
  // tan: sin / cos, a quarter turn on -cos / sin. Others: bit 1 to the sign bit.
  const bool tangent = which == Circular::tangent;
  if (tangent) value = b.CreateFDiv(value, b.CreateSelect(swap, both.sine, both.cosine));
  const int64_t bit = tangent ? 1 : 2, width = m.isSingle(x) ? 32 : 64;
  Value* negative =
      b.CreateShl(b.CreateAnd(quadrant, m.integer(x, bit)), m.integer(x, width - (tangent ? 1 : 2)));
  return b.CreateBitCast(b.CreateXor(m.bits(value), negative), x->getType());
}

Value* reducedAngle(MathParts& m, Value* x, Circular which) {
  llvm::IRBuilderBase& b = m.b;
  Value* value = ofTurned(m, turned(m, x), which);
  // x - 0 * pi/2 loses the sign of -0.
  return which == Circular::cosine ? value : b.CreateSelect(b.CreateFCmpOEQ(x, m.number(x, 0.0)), x, value);
}

MathFunction functionOf(Circular which) {
  return which == Circular::sine     ? MathFunction::sin
         : which == Circular::cosine ? MathFunction::cos
                                     : MathFunction::tan;
}

}  // namespace

Value* emitCircularOfReduced(MathParts& m, Value* r, Value* rest, Value* n, Circular which) {
  return ofTurned(m, {r, rest, n}, which);
}

Value* emitCircular(MathParts& m, Value* x, Circular which) {
  llvm::IRBuilderBase& b = m.b;
  Value* large = b.CreateFCmpUGT(m.absolute(x), m.number(x, kLargest));  // NaN and infinity, too
  Value* usual = reducedAngle(m, b.CreateSelect(large, m.number(x, 0.0), x), which);
  return emitRareLanes(m, functionOf(which), large, usual, {x});
}

}  // namespace dyn
