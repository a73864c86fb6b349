// fmod: x - y trunc(x / y), which is exact as long as the quotient is; lanes with a larger one go to libm,
// on a GPU to device_math.cpp.
#include "compiler/codegen/math/vector_math.h"
#include "compiler/codegen/math/vector_math_parts.h"

namespace dyn {

using llvm::Value;

namespace {

// Of floats, in double: a quotient below 2^28 cannot round up to a whole number, and its product with y is
// exact.
Value* ofFloat(MathParts& m, Value* x, Value* y, Value*& rare) {
  llvm::IRBuilderBase& b = m.b;
  Value *wideX = m.toDouble(x), *wideY = m.toDouble(y);
  Value* quotient = b.CreateFDiv(wideX, wideY);
  rare =
      b.CreateNot(b.CreateFCmpOLT(m.absolute(quotient), m.number(wideX, 0x1p28)));  // NaN and infinity, too
  // Conversions to i32 and back: SSE2 has no rounding.
  Value* safe = m.choose(rare, m.number(wideX, 0.0), quotient);
  llvm::Type* i32 = m.withElement(x, b.getInt32Ty());
  Value* whole = b.CreateSIToFP(b.CreateFPToSI(safe, i32), wideX->getType());
  return m.toFloat(b.CreateFSub(wideX, b.CreateFMul(whole, wideY)));
}

// Of doubles: |x| / |y| below 2^26 rounds up to a whole number q at times; then |x| - q |y|, made exact by
// splitting y, is negative and one |y| is given back.
Value* ofDouble(MathParts& m, Value* x, Value* y, Value*& rare) {
  llvm::IRBuilderBase& b = m.b;
  Value *sizeX = m.absolute(x), *sizeY = m.absolute(y);
  Value* quotient = b.CreateFDiv(sizeX, sizeY);
  // Denormal divisors cannot be split.
  rare = b.CreateNot(b.CreateAnd(b.CreateFCmpOLT(quotient, m.number(x, 0x1p26)),
                                 b.CreateFCmpOGT(sizeY, m.number(x, 0x1p-960))));
  Value* safe = m.choose(rare, m.number(x, 0.0), quotient);
  llvm::Type* i32 = m.withElement(x, b.getInt32Ty());
  Value* whole = b.CreateSIToFP(b.CreateFPToSI(safe, i32), x->getType());
  Value* mask = m.integer(x, -(int64_t{1} << 27));
  Value* high = b.CreateBitCast(b.CreateAnd(m.bits(sizeY), mask), x->getType());
  Value* rest = b.CreateFSub(sizeX, b.CreateFMul(whole, high));
  rest = b.CreateFSub(rest, b.CreateFMul(whole, b.CreateFSub(sizeY, high)));
  return m.choose(b.CreateFCmpOLT(rest, m.number(x, 0.0)), b.CreateFAdd(rest, sizeY), rest);
}

}  // namespace

Value* emitRemainder(MathParts& m, Value* x, Value* y) {
  llvm::IRBuilderBase& b = m.b;
  Value* rare = nullptr;
  Value* usual = m.isSingle(x) ? ofFloat(m, x, y, rare) : ofDouble(m, x, y, rare);
  // The dividend's sign, also of 0.
  usual = m.withSignOf(m.absolute(usual), x);
  // A finite dividend is what is left of an infinite divisor.
  Value* infinite = b.CreateFCmpOEQ(m.absolute(y), llvm::ConstantFP::getInfinity(y->getType()));
  Value* finite = b.CreateFCmpOLT(m.absolute(x), llvm::ConstantFP::getInfinity(x->getType()));
  usual = m.choose(b.CreateAnd(infinite, finite), x, usual);
  return emitRareLanes(m, MathFunction::fmod, rare, usual, {x, y});
}

}  // namespace dyn
