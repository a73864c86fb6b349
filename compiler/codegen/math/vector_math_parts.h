// Internal to codegen (LLVM types): the pieces the vector math functions are written with. All work lane by
// lane.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "compiler/codegen/math/vector_math.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace dyn {

class MathParts {
 public:
  explicit MathParts(llvm::IRBuilderBase& builder) : b(builder) {}

  using V = llvm::Value*;
  llvm::IRBuilderBase& b;

  // A constant in every lane, of `like`'s floating type.
  V number(V like, double value) { return llvm::ConstantFP::get(like->getType(), value); }
  // The integer type with as many bits and lanes as `like`.
  llvm::Type* integerType(V like) {
    llvm::Type* element = b.getIntNTy(like->getType()->getScalarSizeInBits());
    if (auto* vector = llvm::dyn_cast<llvm::VectorType>(like->getType()))
      return llvm::VectorType::get(element, vector->getElementCount());
    return element;
  }
  V integer(V like, int64_t value) { return llvm::ConstantInt::getSigned(integerType(like), value); }
  V bits(V x) { return b.CreateBitCast(x, integerType(x)); }

  // a * b + c: fused where the machine has it, else rounded twice. Written so that both are within the stated
  // errors.
  V multiplyAdd(V a, V x, V c) {
    return b.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, x, c});
  }
  // c0 + c1 x + c2 x^2 + ...
  V polynomial(V x, std::initializer_list<double> coefficients) {
    const double* c = coefficients.end();
    V sum = number(x, *--c);
    while (c != coefficients.begin()) sum = multiplyAdd(sum, x, number(x, *--c));
    return sum;
  }
  // Keep NaN, as the comparison with it is false.
  V atMost(V x, double limit) {
    return b.CreateSelect(b.CreateFCmpOGT(x, number(x, limit)), number(x, limit), x);
  }
  V atLeast(V x, double limit) {
    return b.CreateSelect(b.CreateFCmpOLT(x, number(x, limit)), number(x, limit), x);
  }
  bool isSingle(V x) const { return x->getType()->getScalarType()->isFloatTy(); }
  V choose(V condition, V ifTrue, V ifFalse) { return b.CreateSelect(condition, ifTrue, ifFalse); }
  V absolute(V x) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  V withSignOf(V magnitude, V sign) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
  }

  // The nearest whole number of x, |x| < 2^22 - 2^8 (float) or 2^51 - 2^11 (double), as float and as integer
  // of the same width. Adding 1.5 * 2^23 leaves it in the low bits of the sum: no rounding instruction is
  // needed, which SSE2 lacks.
  struct Whole {
    V asFloat, asInteger;
    V doublyBiased;  // its low bits hold the number and twice the bias of an exponent
  };
  Whole nearest(V x) {
    V shift = isSingle(x) ? number(x, 12582912.0 + 2 * 127) : number(x, 6755399441055744.0 + 2 * 1023);
    V sum = b.CreateFAdd(x, shift);
    return {b.CreateFSub(sum, shift), b.CreateSub(bits(sum), b.CreateBitCast(shift, integerType(x))),
            bits(sum)};
  }
  // 2^n as float, -126 <= n <= 127 (double: -1022 .. 1023).
  V powerOfTwo(V n, llvm::Type* type) {
    const bool single = type->getScalarType()->isFloatTy();
    V biased = b.CreateAdd(n, llvm::ConstantInt::getSigned(n->getType(), single ? 127 : 1023));
    return b.CreateBitCast(b.CreateShl(biased, llvm::ConstantInt::get(n->getType(), single ? 23 : 52)), type);
  }
  // x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for positive finite x.
  struct Scaled {
    V e, f;
  };
  Scaled splitAtSqrtHalf(V x) {
    const bool single = isSingle(x);
    V denormal = b.CreateFCmpOLT(x, number(x, single ? 0x1p-126 : 0x1p-1022));
    V normal = choose(denormal, b.CreateFMul(x, number(x, single ? 0x1p25 : 0x1p54)), x);
    // Subtracting the bits of sqrt(1/2) first makes the exponent change at sqrt(1/2), not at 1.
    const int64_t sqrtHalfBits = single ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
    V offset = b.CreateSub(bits(normal), integer(x, sqrtHalfBits));
    // The exponent of a double fits in the upper half: 64-bit arithmetic shifts and conversions are slow
    // before AVX-512.
    llvm::Type* narrow = withElement(x, b.getInt32Ty());
    V upper = single ? offset : b.CreateTrunc(b.CreateLShr(offset, integer(x, 32)), narrow);
    V exponent = b.CreateAShr(upper, llvm::ConstantInt::get(narrow, single ? 23 : 20));
    V e = b.CreateSIToFP(exponent, x->getType());
    e = b.CreateFSub(e, choose(denormal, number(x, single ? 25.0 : 54.0), number(x, 0.0)));
    V digits = b.CreateAnd(offset, integer(x, single ? 0x7fffff : 0xfffffffffffff));
    V mantissa = b.CreateBitCast(b.CreateAdd(digits, integer(x, sqrtHalfBits)), x->getType());
    return {e, b.CreateFSub(mantissa, number(x, 1.0))};
  }
  // x * 2^n for any n the callers have, rounded once where the result is denormal: by AVX-512's own
  // instruction, else in two steps by powers of about n / 2.
  V scale(V x, const Whole& n) {
    if (hasScalingInstruction(x)) return scaleByInstruction(x, n);
    const auto [first, second] = halvesOfPower(x, n);
    return b.CreateFMul(b.CreateFMul(x, first), second);
  }
  // (1 + p) * 2^n, likewise.
  V scaleOnePlus(V p, const Whole& n) {
    if (hasScalingInstruction(p)) return scaleByInstruction(b.CreateFAdd(p, number(p, 1.0)), n);
    const auto [first, second] = halvesOfPower(p, n);
    return b.CreateFMul(multiplyAdd(p, first, first), second);
  }
  // Powers of two, as `like`, whose product is 2^n.
  std::pair<V, V> halvesOfPower(V like, const Whole& n) {
    // Half of an exponent that is biased twice is biased once. The shift into its place drops what stands
    // above it.
    llvm::Type* type = n.doublyBiased->getType();
    llvm::Constant* digits = llvm::ConstantInt::get(type, isSingle(like) ? 23 : 52);
    V half = b.CreateLShr(n.doublyBiased, llvm::ConstantInt::get(type, 1));
    V rest = b.CreateSub(n.doublyBiased, half);
    return {b.CreateBitCast(b.CreateShl(half, digits), like->getType()),
            b.CreateBitCast(b.CreateShl(rest, digits), like->getType())};
  }
  V scaleByInstruction(V x, const Whole& n) {
    V all = isSingle(x) ? b.getInt16(0xffff) : b.getInt8(0xff);
    return b.CreateIntrinsic(
        isSingle(x) ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512,
        {},
        {x, n.asFloat, llvm::Constant::getNullValue(x->getType()), all, b.getInt32(4) /* rounding as set */});
  }
  bool hasScalingInstruction(V x) const {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
    if (!vector || vector->getNumElements() * vector->getElementType()->getScalarSizeInBits() != 512)
      return false;
    const llvm::Function* function = b.GetInsertBlock()->getParent();
    return function->getFnAttribute("target-features").getValueAsString().contains("+avx512f");
  }
  llvm::Type* withElement(V like, llvm::Type* element) {
    if (auto* vector = llvm::dyn_cast<llvm::VectorType>(like->getType()))
      return llvm::VectorType::get(element, vector->getElementCount());
    return element;
  }
  V toDouble(V x) { return b.CreateFPExt(x, withElement(x, b.getDoubleTy())); }
  V toFloat(V x) { return b.CreateFPTrunc(x, withElement(x, b.getFloatTy())); }
};

// Each on lanes of float or double, unless it says so.
llvm::Value* emitExp(MathParts& m, llvm::Value* x);
llvm::Value* emitExpOfSum(MathParts& m, llvm::Value* high,
                          llvm::Value* low);  // e^(high + low) of doubles, low far smaller
llvm::Value* emitExpMinusOne(MathParts& m, llvm::Value* x);
llvm::Value* emitSigmoid(MathParts& m, llvm::Value* x);
enum class Hyperbolic { sine, cosine };
llvm::Value* emitHyperbolic(MathParts& m, llvm::Value* x, Hyperbolic which);
llvm::Value* emitTanh(MathParts& m, llvm::Value* x);
llvm::Value* emitErf(MathParts& m, llvm::Value* x);
llvm::Value* emitLog(MathParts& m, llvm::Value* x);
llvm::Value* emitLogOnePlus(MathParts& m, llvm::Value* x);
enum class Area { sine, cosine, tangent };
llvm::Value* emitArea(MathParts& m, llvm::Value* x, Area which);
llvm::Value* emitPow(MathParts& m, llvm::Value* x, llvm::Value* y);
llvm::Value* emitWideLog2(MathParts& m,
                          llvm::Value* wide);  // log2 of positive normal doubles, to about 2^-45
enum class Circular { sine, cosine, tangent };
llvm::Value* emitCircular(MathParts& m, llvm::Value* x, Circular which);
// Of x - n pi/2 = r + rest; rest is null for floats.
llvm::Value* emitCircularOfReduced(MathParts& m, llvm::Value* r, llvm::Value* rest, llvm::Value* n,
                                   Circular which);
llvm::Value* emitArcSine(MathParts& m, llvm::Value* x);
llvm::Value* emitArcCosine(MathParts& m, llvm::Value* x);
llvm::Value* emitArcTangent(MathParts& m, llvm::Value* x);
llvm::Value* emitRemainder(MathParts& m, llvm::Value* x, llvm::Value* y);
// `usual`, but libm's answer in the lanes that are `rare`: a branch, taken where there is one.
llvm::Value* emitRareLanes(MathParts& m, MathFunction function, llvm::Value* rare, llvm::Value* usual,
                           const std::vector<llvm::Value*>& arguments);
// On a GPU: what is emitted there instead of a call (device_math.cpp).
bool hasNoLibrary(llvm::IRBuilderBase& builder);
llvm::Value* emitRareOnDevice(MathParts& m, MathFunction function,
                              const std::vector<llvm::Value*>& arguments);

}  // namespace dyn
