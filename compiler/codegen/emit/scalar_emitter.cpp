#include "compiler/codegen/emit/scalar_emitter.h"

#include <cmath>
#include <limits>

#include "compiler/codegen/math/vector_math.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/PatternMatch.h"

namespace dyn {

using llvm::Value;
using loop::BinaryOp;
using loop::ReduceOp;
using loop::UnaryOp;

namespace {

constexpr int kMostChoices = 6;  // inside each other, of a number that is moved as it lies in memory

}  // namespace

llvm::Type* valueType(llvm::LLVMContext& context, Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
      return llvm::Type::getInt1Ty(context);
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::i4:
    case Dtype::u4:
    case Dtype::i2:
    case Dtype::u2:
      return llvm::Type::getInt8Ty(context);
    case Dtype::i16:
    case Dtype::u16:
      return llvm::Type::getInt16Ty(context);
    case Dtype::i32:
    case Dtype::u32:
      return llvm::Type::getInt32Ty(context);
    case Dtype::i64:
    case Dtype::u64:
      return llvm::Type::getInt64Ty(context);
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::f32:
      return llvm::Type::getFloatTy(context);
    case Dtype::f64:
      return llvm::Type::getDoubleTy(context);
    default:
      return nullptr;
  }
}

llvm::Type* memoryType(llvm::LLVMContext& context, Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
      return llvm::Type::getInt8Ty(context);
    case Dtype::f16:
      return llvm::Type::getHalfTy(context);
    case Dtype::bf16:
      return llvm::Type::getInt16Ty(context);
    default:
      return valueType(context, dtype);
  }
}

llvm::Type* withLanesOf(llvm::Type* like, llvm::Type* scalar) {
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(like))
    return llvm::VectorType::get(scalar, vector->getElementCount());
  return scalar;
}

bool isSignedInteger(Dtype d) { return dtypeClass(d) == DtypeClass::integer; }

namespace {

// Types that take less than the byte they are held in; 0: others.
unsigned narrowBits(Dtype d) {
  return d == Dtype::i4 || d == Dtype::u4 ? 4 : d == Dtype::i2 || d == Dtype::u2 ? 2 : 0;
}

MathFunction mathFunctionOf(UnaryOp op) {
  switch (op) {
    case UnaryOp::exp:
      return MathFunction::exp;
    case UnaryOp::log:
      return MathFunction::log;
    case UnaryOp::sin:
      return MathFunction::sin;
    case UnaryOp::cos:
      return MathFunction::cos;
    case UnaryOp::tan:
      return MathFunction::tan;
    case UnaryOp::asin:
      return MathFunction::asin;
    case UnaryOp::acos:
      return MathFunction::acos;
    case UnaryOp::atan:
      return MathFunction::atan;
    case UnaryOp::sinh:
      return MathFunction::sinh;
    case UnaryOp::cosh:
      return MathFunction::cosh;
    case UnaryOp::tanh:
      return MathFunction::tanh;
    case UnaryOp::asinh:
      return MathFunction::asinh;
    case UnaryOp::acosh:
      return MathFunction::acosh;
    case UnaryOp::atanh:
      return MathFunction::atanh;
    case UnaryOp::expm1:
      return MathFunction::expm1;
    case UnaryOp::log1p:
      return MathFunction::log1p;
    case UnaryOp::sigmoid:
      return MathFunction::sigmoid;
    default:
      return MathFunction::erf;
  }
}

}  // namespace

Value* ScalarEmitter::splat(llvm::Type* like, double value) { return llvm::ConstantFP::get(like, value); }
Value* ScalarEmitter::splatInt(llvm::Type* like, int64_t value) {
  return llvm::ConstantInt::get(like, static_cast<uint64_t>(value), true);
}

Value* ScalarEmitter::fromMemory(Value* element, Dtype dtype) {
  llvm::Type* type = element->getType();
  if (dtype == Dtype::boolean) return b_.CreateICmpNE(element, llvm::Constant::getNullValue(type));
  if (dtype == Dtype::f16) return b_.CreateFPExt(element, withLanesOf(type, b_.getFloatTy()));
  if (dtype == Dtype::bf16) {
    Value* wide = b_.CreateZExt(element, withLanesOf(type, b_.getInt32Ty()));
    return b_.CreateBitCast(b_.CreateShl(wide, splatInt(wide->getType(), 16)),
                            withLanesOf(type, b_.getFloatTy()));
  }
  return element;
}

// What is only chosen among numbers of two bytes is moved as it lies in memory: null if anything is computed,
// or there are more choices than `depth` inside each other.
Value* ScalarEmitter::asStored(Value* value, Dtype dtype, int depth) {
  using namespace llvm::PatternMatch;
  Value* stored = nullptr;
  if (dtype == Dtype::f16 && match(value, m_FPExt(m_Value(stored))) &&
      stored->getType()->getScalarType()->isHalfTy())
    return stored;
  if (dtype == Dtype::bf16 && match(value, m_BitCast(m_Shl(m_ZExt(m_Value(stored)), m_SpecificInt(16)))) &&
      stored->getType()->getScalarType()->isIntegerTy(16))
    return stored;
  const llvm::APFloat* constant = nullptr;
  if (match(value, m_APFloat(constant))) {
    llvm::APFloat narrow = *constant;
    bool loses = false;
    narrow.convert(dtype == Dtype::f16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                   llvm::APFloat::rmNearestTiesToEven, &loses);
    if (loses || narrow.isNaN()) return nullptr;
    if (dtype == Dtype::f16)
      return llvm::ConstantFP::get(withLanesOf(value->getType(), b_.getHalfTy()), narrow);
    return llvm::ConstantInt::get(withLanesOf(value->getType(), b_.getInt16Ty()), narrow.bitcastToAPInt());
  }
  auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  if (depth == 0 || !made) return nullptr;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(made);
  if (Value* same = llvm::getSplatValue(value)) {
    Value* one = asStored(same, dtype, depth - 1);
    if (!one) return nullptr;
    return b_.CreateVectorSplat(llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements(), one);
  }
  if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(value)) {
    Value* ifTrue = asStored(choice->getTrueValue(), dtype, depth - 1);
    Value* ifFalse = ifTrue ? asStored(choice->getFalseValue(), dtype, depth - 1) : nullptr;
    if (!ifFalse) return nullptr;
    return b_.CreateSelect(choice->getCondition(), ifTrue, ifFalse);
  }
  // Of a loop that is being written the last value is not there yet.
  auto* joined = llvm::dyn_cast<llvm::PHINode>(value);
  if (!joined || joined->getNumIncomingValues() < 2) return nullptr;
  std::vector<Value*> arms;
  for (Value* arm : joined->incoming_values()) {
    arms.push_back(asStored(arm, dtype, depth - 1));
    if (!arms.back()) return nullptr;
  }
  llvm::PHINode* phi = b_.CreatePHI(arms[0]->getType(), static_cast<unsigned>(arms.size()));
  for (unsigned i = 0; i < arms.size(); ++i) phi->addIncoming(arms[i], joined->getIncomingBlock(i));
  return phi;
}

Value* ScalarEmitter::toMemory(Value* value, Dtype dtype) {
  llvm::Type* type = value->getType();
  if (dtype == Dtype::f16 || dtype == Dtype::bf16)
    if (Value* stored = asStored(value, dtype, kMostChoices)) return stored;
  if (dtype == Dtype::boolean) return b_.CreateZExt(value, withLanesOf(type, b_.getInt8Ty()));
  if (dtype == Dtype::f16) return b_.CreateFPTrunc(value, withLanesOf(type, b_.getHalfTy()));
  if (dtype == Dtype::bf16) {
    // The value is already rounded to bf16: its low half is zero, NaN included.
    Value* bits = b_.CreateBitCast(value, withLanesOf(type, b_.getInt32Ty()));
    return b_.CreateTrunc(b_.CreateLShr(bits, splatInt(bits->getType(), 16)),
                          withLanesOf(type, b_.getInt16Ty()));
  }
  return value;
}

Value* ScalarEmitter::round(Value* value, Dtype dtype) {
  llvm::Type* type = value->getType();
  if (dtype == Dtype::f16)
    return b_.CreateFPExt(b_.CreateFPTrunc(value, withLanesOf(type, b_.getHalfTy())), type);
  if (dtype != Dtype::bf16) return value;
  // To nearest even on the upper half of the bits; a NaN keeps its sign and stays quiet.
  llvm::Type* ints = withLanesOf(type, b_.getInt32Ty());
  Value* bits = b_.CreateBitCast(value, ints);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, splatInt(ints, 16)), splatInt(ints, 1));
  Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(odd, splatInt(ints, 0x7fff)));
  Value* isNan = b_.CreateFCmpUNO(value, value);
  Value* quiet = b_.CreateOr(bits, splatInt(ints, 0x400000));
  Value* chosen =
      b_.CreateAnd(b_.CreateSelect(isNan, quiet, rounded), splatInt(ints, static_cast<int64_t>(0xffff0000u)));
  return b_.CreateBitCast(chosen, type);
}

Value* ScalarEmitter::unary(UnaryOp op, Value* a, Dtype dtype) {
  llvm::Type* type = a->getType();
  const bool real = isReal(dtype);
  switch (op) {
    case UnaryOp::neg:
      return real ? b_.CreateFNeg(a) : wrapped(b_.CreateNeg(a), dtype);
    case UnaryOp::abs:
      if (real) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
      if (!isSignedInteger(dtype)) return a;
      return wrapped(b_.CreateSelect(b_.CreateICmpSLT(a, splatInt(type, 0)), b_.CreateNeg(a), a), dtype);
    case UnaryOp::logicalNot:
    case UnaryOp::bitNot:
      return wrapped(b_.CreateNot(a), dtype);
    case UnaryOp::sign: {
      if (real) {
        Value* nan = b_.CreateFAdd(a, splat(type, 0));  // or 0, where it is 0 or -0
        Value* positive = b_.CreateSelect(b_.CreateFCmpOGT(a, splat(type, 0)), splat(type, 1), nan);
        return b_.CreateSelect(b_.CreateFCmpOLT(a, splat(type, 0)), splat(type, -1), positive);
      }
      Value* positive = b_.CreateSelect(b_.CreateICmpEQ(a, splatInt(type, 0)), a, splatInt(type, 1));
      if (!isSignedInteger(dtype)) return positive;
      return b_.CreateSelect(b_.CreateICmpSLT(a, splatInt(type, 0)), splatInt(type, -1), positive);
    }
    case UnaryOp::floor:
      return real ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a) : a;
    case UnaryOp::ceil:
      return real ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a) : a;
    case UnaryOp::trunc:
      return real ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a) : a;
    case UnaryOp::round:
      return real ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, a) : a;
    case UnaryOp::sqrt:
      return round(b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a), dtype);
    case UnaryOp::isNan:
      return real ? b_.CreateFCmpUNO(a, a) : llvm::Constant::getNullValue(withLanesOf(type, b_.getInt1Ty()));
    case UnaryOp::isInf:
      if (!real) return llvm::Constant::getNullValue(withLanesOf(type, b_.getInt1Ty()));
      return b_.CreateFCmpOEQ(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a),
                              llvm::ConstantFP::getInfinity(type));
    default:
      return round(emitMath(mathFunctionOf(op), b_, a), dtype);
  }
}

Value* ScalarEmitter::shift(BinaryOp op, Value* a, Value* b, Dtype dtype) {
  llvm::Type* type = a->getType();
  const unsigned bits = narrowBits(dtype) ? narrowBits(dtype) : type->getScalarSizeInBits();
  Value* tooFar = b_.CreateICmpUGE(b, splatInt(type, bits));
  if (op == BinaryOp::shiftLeft) {
    Value* safe = b_.CreateSelect(tooFar, splatInt(type, 0), b);
    return b_.CreateSelect(tooFar, splatInt(type, 0), wrapped(b_.CreateShl(a, safe), dtype));
  }
  if (isSignedInteger(dtype)) return b_.CreateAShr(a, b_.CreateSelect(tooFar, splatInt(type, bits - 1), b));
  Value* safe = b_.CreateSelect(tooFar, splatInt(type, 0), b);
  return b_.CreateSelect(tooFar, splatInt(type, 0), b_.CreateLShr(a, safe));
}

Value* ScalarEmitter::minMax(bool wantMin, Value* a, Value* b, Dtype dtype) {
  if (isReal(dtype)) {
    // The select takes `b` when the two are equal or either is NaN, which is what vmaxps does by itself; a
    // NaN in `a` is then put back.
    Value* best = b_.CreateSelect(wantMin ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b), a, b);
    return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, best);
  }
  if (dtype == Dtype::boolean) return wantMin ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
  Value* less = isSignedInteger(dtype) ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
  return wantMin ? b_.CreateSelect(less, a, b) : b_.CreateSelect(less, b, a);
}

// By squaring, until no lane has a bit of its exponent left. Negative exponents give 0 but for bases 1 and
// -1.
Value* ScalarEmitter::integerPower(Value* base, Value* exponent, Dtype dtype) {
  llvm::Type* type = base->getType();
  Value *zero = splatInt(type, 0), *one = splatInt(type, 1);
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* iteration = llvm::BasicBlock::Create(b_.getContext(), "power.iteration", function);
  auto* done = llvm::BasicBlock::Create(b_.getContext(), "power.done", function);
  Value* first = exponent;
  if (isSignedInteger(dtype)) first = b_.CreateSelect(b_.CreateICmpSLT(exponent, zero), zero, exponent);
  b_.CreateBr(iteration);
  b_.SetInsertPoint(iteration);
  llvm::PHINode *sum = b_.CreatePHI(type, 2), *power = b_.CreatePHI(type, 2), *rest = b_.CreatePHI(type, 2);
  sum->addIncoming(one, before);
  power->addIncoming(base, before);
  rest->addIncoming(first, before);
  Value* odd = b_.CreateICmpNE(b_.CreateAnd(rest, one), zero);
  Value* result = b_.CreateSelect(odd, b_.CreateMul(sum, power), sum);
  Value* left = b_.CreateLShr(rest, one);
  sum->addIncoming(result, iteration);
  power->addIncoming(b_.CreateMul(power, power), iteration);
  rest->addIncoming(left, iteration);
  Value* goesOn = b_.CreateICmpNE(left, zero);
  if (type->isVectorTy()) goesOn = b_.CreateOrReduce(goesOn);
  b_.CreateCondBr(goesOn, iteration, done);
  b_.SetInsertPoint(done);
  if (!isSignedInteger(dtype)) return result;
  Value* negative = b_.CreateICmpSLT(exponent, splatInt(type, 0));
  Value* isOne = b_.CreateICmpEQ(base, splatInt(type, 1));
  Value* isMinusOne = b_.CreateICmpEQ(base, splatInt(type, -1));
  Value* even = b_.CreateICmpEQ(b_.CreateAnd(exponent, splatInt(type, 1)), splatInt(type, 0));
  Value* unit = b_.CreateSelect(
      isOne, splatInt(type, 1),
      b_.CreateSelect(isMinusOne, b_.CreateSelect(even, splatInt(type, 1), splatInt(type, -1)),
                      splatInt(type, 0)));
  return b_.CreateSelect(negative, unit, result);
}

Value* ScalarEmitter::integerPowerOfUniform(Value* a, Value* exponent, Dtype dtype) {
  constexpr uint64_t kLargestEasy = 16;
  auto general = [&] {
    auto* vector = llvm::dyn_cast<llvm::VectorType>(a->getType());
    return integerPower(a, vector ? b_.CreateVectorSplat(vector->getElementCount(), exponent) : exponent,
                        dtype);
  };
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(exponent)) {
    const uint64_t count = constant->getZExtValue();
    if (count == 0 || count > kLargestEasy) return wrapped(general(), dtype);
    Value *power = a, *result = nullptr;
    for (uint64_t rest = count;; power = b_.CreateMul(power, power)) {
      if (rest & 1) result = result ? b_.CreateMul(result, power) : power;
      if (rest >>= 1; rest == 0) return wrapped(result, dtype);
    }
  }
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* easy = llvm::BasicBlock::Create(b_.getContext(), "power.square", function);
  auto* other = llvm::BasicBlock::Create(b_.getContext(), "power.other", function);
  auto* join = llvm::BasicBlock::Create(b_.getContext(), "power.join", function);
  b_.CreateCondBr(b_.CreateICmpEQ(exponent, splatInt(exponent->getType(), 2)), easy, other);
  b_.SetInsertPoint(easy);
  Value* square = b_.CreateMul(a, a);
  b_.CreateBr(join);
  b_.SetInsertPoint(other);
  Value* any = general();
  other = b_.GetInsertBlock();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode* result = b_.CreatePHI(a->getType(), 2);
  result->addIncoming(square, easy);
  result->addIncoming(any, other);
  return wrapped(result, dtype);
}

namespace {
constexpr double kEasyExponents[] = {2, 3, 4, 0.5, -0.5, -1, -2};
}

// Exact results stay exact; the others are within 1.5 units of the last place.
Value* ScalarEmitter::easyPower(Value* a, double exponent) {
  llvm::Type* type = a->getType();
  Value* one = splat(type, 1);
  if (exponent == -1) return b_.CreateFDiv(one, a);
  if (exponent == -2) {
    Value* inverse = b_.CreateFDiv(one, a);  // its square overflows where the result does
    return b_.CreateFMul(inverse, inverse);
  }
  if (std::fabs(exponent) == 0.5) {
    // -0 gives 0, and -infinity gives infinity, which roots do not.
    Value* root = b_.CreateFAdd(b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a), splat(type, 0));
    Value* lowest = b_.CreateFCmpOEQ(a, llvm::ConstantFP::getInfinity(type, true));
    root = b_.CreateSelect(lowest, llvm::ConstantFP::getInfinity(type), root);
    return exponent > 0 ? root : b_.CreateFDiv(one, root);
  }
  Value* square = b_.CreateFMul(a, a);
  return exponent == 2 ? square : b_.CreateFMul(square, exponent == 3 ? a : square);
}

Value* ScalarEmitter::powerOfUniform(Value* a, Value* exponent, Dtype dtype) {
  auto general = [&] {
    auto* vector = llvm::dyn_cast<llvm::VectorType>(a->getType());
    return emitMath(MathFunction::pow, b_, a,
                    vector ? b_.CreateVectorSplat(vector->getElementCount(), exponent) : exponent);
  };
  if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(exponent)) {
    for (double easy : kEasyExponents)
      if (constant->isExactlyValue(easy)) return round(easyPower(a, easy), dtype);
    return round(general(), dtype);
  }
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* join = llvm::BasicBlock::Create(b_.getContext(), "power.join", function);
  std::vector<std::pair<Value*, llvm::BasicBlock*>> results;
  auto end = [&](Value* result) {
    results.emplace_back(result, b_.GetInsertBlock());
    b_.CreateBr(join);
  };
  for (double easy : kEasyExponents) {
    auto* own = llvm::BasicBlock::Create(b_.getContext(), "power.easy", function);
    auto* other = llvm::BasicBlock::Create(b_.getContext(), "power.other", function);
    b_.CreateCondBr(b_.CreateFCmpOEQ(exponent, splat(exponent->getType(), easy)), own, other);
    b_.SetInsertPoint(own);
    end(easyPower(a, easy));
    b_.SetInsertPoint(other);
  }
  end(general());
  b_.SetInsertPoint(join);
  llvm::PHINode* result = b_.CreatePHI(a->getType(), static_cast<unsigned>(results.size()));
  for (const auto& [value, block] : results) result->addIncoming(value, block);
  return round(result, dtype);
}

Value* ScalarEmitter::binary(BinaryOp op, Value* a, Value* b, Dtype dtype) {
  const bool real = isReal(dtype), isSigned = isSignedInteger(dtype);
  switch (op) {
    case BinaryOp::add:
      return real ? round(b_.CreateFAdd(a, b), dtype) : wrapped(b_.CreateAdd(a, b), dtype);
    case BinaryOp::sub:
      return real ? round(b_.CreateFSub(a, b), dtype) : wrapped(b_.CreateSub(a, b), dtype);
    case BinaryOp::mul:
      return real ? round(b_.CreateFMul(a, b), dtype) : wrapped(b_.CreateMul(a, b), dtype);
    case BinaryOp::div:
      if (real) return round(b_.CreateFDiv(a, b), dtype);
      return wrapped(divide(a, b, dtype), dtype);
    case BinaryOp::floorDiv:
      if (real) return round(b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(a, b)), dtype);
      return wrapped(floored(divide(a, b, dtype), a, b, dtype), dtype);
    case BinaryOp::mod: {
      if (!real) return b_.CreateSub(a, b_.CreateMul(floored(divide(a, b, dtype), a, b, dtype), b));
      Value* rest = emitMath(MathFunction::fmod, b_, a, b);
      llvm::Type* type = a->getType();
      Value* nonZero = b_.CreateFCmpONE(rest, splat(type, 0));
      Value* opposite =
          b_.CreateXor(b_.CreateFCmpOLT(rest, splat(type, 0)), b_.CreateFCmpOLT(b, splat(type, 0)));
      return round(b_.CreateSelect(b_.CreateAnd(nonZero, opposite), b_.CreateFAdd(rest, b), rest), dtype);
    }
    case BinaryOp::rem:
      if (real) return round(emitMath(MathFunction::fmod, b_, a, b), dtype);
      return b_.CreateSub(a, b_.CreateMul(divide(a, b, dtype), b));
    case BinaryOp::min:
      return minMax(true, a, b, dtype);
    case BinaryOp::max:
      return minMax(false, a, b, dtype);
    case BinaryOp::pow:
      return real ? round(emitMath(MathFunction::pow, b_, a, b), dtype)
                  : wrapped(integerPower(a, b, dtype), dtype);
    case BinaryOp::equal:
      return real ? b_.CreateFCmpOEQ(a, b) : b_.CreateICmpEQ(a, b);
    case BinaryOp::notEqual:
      return real ? b_.CreateFCmpUNE(a, b) : b_.CreateICmpNE(a, b);
    case BinaryOp::less:
      if (real) return b_.CreateFCmpOLT(a, b);
      return isSigned ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
    case BinaryOp::lessEqual:
      if (real) return b_.CreateFCmpOLE(a, b);
      return isSigned ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
    case BinaryOp::logicalAnd:
    case BinaryOp::bitAnd:
      return b_.CreateAnd(a, b);
    case BinaryOp::logicalOr:
    case BinaryOp::bitOr:
      return b_.CreateOr(a, b);
    case BinaryOp::logicalXor:
    case BinaryOp::bitXor:
      return b_.CreateXor(a, b);
    case BinaryOp::shiftLeft:
    case BinaryOp::shiftRight:
      return shift(op, a, b, dtype);
  }
  return nullptr;
}

Value* ScalarEmitter::cast(Value* a, Dtype from, Dtype to) {
  if (from == to) return a;
  llvm::Type* type = a->getType();
  llvm::Type* target = withLanesOf(type, valueType(b_.getContext(), to));
  const bool fromReal = isReal(from), toReal = isReal(to);
  if (to == Dtype::boolean) {
    if (fromReal) return b_.CreateFCmpUNE(a, splat(type, 0));
    return from == Dtype::boolean ? a : b_.CreateICmpNE(a, splatInt(type, 0));
  }
  if (fromReal && toReal) {
    Value* wide = a;
    if (type->getScalarSizeInBits() < target->getScalarSizeInBits()) wide = b_.CreateFPExt(a, target);
    if (type->getScalarSizeInBits() > target->getScalarSizeInBits())
      wide = to == Dtype::f32 ? b_.CreateFPTrunc(a, target) : roundedToOdd(a, target);
    return round(wide, to);
  }
  const unsigned narrow = narrowBits(to);
  if (fromReal && type->isVectorTy()) return wrapped(saturated(a, target, isSignedInteger(to) || narrow), to);
  if (fromReal) {
    const llvm::Intrinsic::ID id =
        isSignedInteger(to) || narrow ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return wrapped(b_.CreateIntrinsic(id, {target, type}, {a}), to);
  }
  const bool fromSigned = isSignedInteger(from);
  if (toReal) return round(fromSigned ? b_.CreateSIToFP(a, target) : b_.CreateUIToFP(a, target), to);
  return wrapped(b_.CreateIntCast(a, target, fromSigned), to);
}

Value* ScalarEmitter::castBySize(Value* a, Dtype from, Dtype to) {
  llvm::Type* type = a->getType();
  llvm::Type* i32 = withLanesOf(type, b_.getInt32Ty());
  llvm::Type* target = withLanesOf(type, valueType(b_.getContext(), to));
  constexpr double kSmall = 2147483648.0;  // 2^31
  Value* small = nullptr;
  if (isReal(from)) {
    const bool isSigned = isSignedInteger(to);
    Value* size = isSigned ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a) : a;
    small = b_.CreateFCmpOLT(size, splat(type, kSmall));
    if (!isSigned) small = b_.CreateAnd(small, b_.CreateFCmpOGE(a, splat(type, 0)));
    small = b_.CreateAndReduce(small);
  } else {
    // Nothing above the low half: of i64 when as much is added as makes the smallest i32 a 0.
    const int64_t low = isSignedInteger(from) ? int64_t{1} << 31 : 0,
                  high = isSignedInteger(from) ? ~int64_t{0xffffffff} : ~int64_t{0x7fffffff};
    Value* above = b_.CreateAnd(b_.CreateAdd(a, splatInt(type, low)), splatInt(type, high));
    small = b_.CreateICmpEQ(b_.CreateOrReduce(above), b_.getInt64(0));
  }
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* narrow = llvm::BasicBlock::Create(b_.getContext(), "cast.small", function);
  auto* wide = llvm::BasicBlock::Create(b_.getContext(), "cast.large", function);
  auto* join = llvm::BasicBlock::Create(b_.getContext(), "cast.join", function);
  b_.CreateCondBr(small, narrow, wide);
  b_.SetInsertPoint(narrow);
  Value* ofSmall = isReal(from) ? b_.CreateIntCast(b_.CreateFPToSI(a, i32), target, isSignedInteger(to))
                                : round(b_.CreateSIToFP(b_.CreateTrunc(a, i32), target), to);
  b_.CreateBr(join);
  b_.SetInsertPoint(wide);
  Value* ofAny = cast(a, from, to);
  wide = b_.GetInsertBlock();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode* result = b_.CreatePHI(target, 2);
  result->addIncoming(ofSmall, narrow);
  result->addIncoming(ofAny, wide);
  return result;
}

// double → float cut off, with the last bit set where that lost anything: rounded once more, to a type of
// fewer digits, it gives what one rounding does.
Value* ScalarEmitter::roundedToOdd(Value* a, llvm::Type* target) {
  llvm::Type* ints = withLanesOf(target, b_.getInt32Ty());
  Value* nearest = b_.CreateFPTrunc(a, target);
  Value* back = b_.CreateFPExt(nearest, a->getType());
  auto size = [&](Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  Value* bits = b_.CreateBitCast(nearest, ints);
  bits = b_.CreateSub(bits,
                      b_.CreateZExt(b_.CreateFCmpOGT(size(back), size(a)), ints));  // away from 0: one back
  bits = b_.CreateOr(bits, b_.CreateZExt(b_.CreateFCmpONE(back, a), ints));
  return b_.CreateBitCast(bits, target);
}

// What the saturating intrinsics say, which become one conversion per lane: NaN is 0, other numbers are cut
// to the range of the target.
Value* ScalarEmitter::saturated(Value* a, llvm::Type* target, bool isSigned) {
  llvm::Type* type = a->getType();
  const int bits = static_cast<int>(target->getScalarSizeInBits());
  const double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0,
               beyond = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  if (bits < 32 && type->getScalarSizeInBits() >= 32) {
    // Both ends are numbers of the type: cut first, as the machine's minima and maxima do, and bytes and
    // words come by way of i32, which all vectors convert to. A NaN is less than nothing, so that it ends as
    // the low end, which is 0 for what has no sign. Both ends are whole: what is rounded anyhow is rounded
    // after the cut, by the conversion itself where the machine has one that does.
    const std::string& triple = b_.GetInsertBlock()->getModule()->getTargetTriple();
    auto* rounding = llvm::dyn_cast<llvm::IntrinsicInst>(a);
    const bool rounds = rounding && rounding->getIntrinsicID() == llvm::Intrinsic::rint &&
                        type->getScalarType()->isFloatTy() && triple.rfind("x86_64", 0) == 0;
    if (rounds) a = rounding->getArgOperand(0);
    Value* cut = b_.CreateSelect(b_.CreateFCmpOGT(a, splat(type, low)), a, splat(type, low));
    cut = b_.CreateSelect(b_.CreateFCmpOLT(cut, splat(type, beyond - 1)), cut, splat(type, beyond - 1));
    llvm::Type* wide = withLanesOf(type, b_.getInt32Ty());
    Value* whole =
        rounds ? b_.CreateIntrinsic(llvm::Intrinsic::lrint, {wide, type}, {cut}) : b_.CreateFPToSI(cut, wide);
    if (isSigned) whole = b_.CreateSelect(b_.CreateFCmpUNO(a, a), splatInt(wide, 0), whole);
    // It is in range. Said once more, in integers, it lets x86 pack several vectors into one.
    const auto whole32 = [&](double end) { return splatInt(wide, static_cast<int64_t>(end)); };
    whole = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, whole, whole32(low));
    whole = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, whole, whole32(beyond - 1));
    return b_.CreateTrunc(whole, target);
  }
  Value* number = b_.CreateSelect(b_.CreateFCmpUNO(a, a), splat(type, 0), a);
  Value* inside = b_.CreateSelect(b_.CreateFCmpOLT(number, splat(type, low)), splat(type, low), number);
  llvm::Type* wide = bits >= 32 ? target : withLanesOf(type, b_.getInt32Ty());
  Value* whole = isSigned || bits < 32 ? b_.CreateFPToSI(inside, wide) : b_.CreateFPToUI(inside, wide);
  // Where the number is too large the conversion gives anything.
  const uint64_t highest = ~uint64_t{0} >> (64 - bits + (isSigned ? 1 : 0));
  Value* cut = b_.CreateSelect(b_.CreateFCmpOGE(inside, splat(type, beyond)),
                               llvm::ConstantInt::get(wide, highest), whole);
  return bits >= 32 ? cut : b_.CreateTrunc(cut, target);
}

// As the type's width holds it: of a narrow type the low bits of the byte, extended to the byte.
Value* ScalarEmitter::wrapped(Value* value, Dtype dtype) {
  const unsigned bits = narrowBits(dtype);
  if (bits == 0) return value;
  Value* shift = splatInt(value->getType(), 8 - bits);
  value = b_.CreateShl(value, shift);
  return isSignedInteger(dtype) ? b_.CreateAShr(value, shift) : b_.CreateLShr(value, shift);
}

Value* ScalarEmitter::neutral(ReduceOp op, llvm::Type* type, Dtype dtype) {
  const bool real = isReal(dtype);
  const unsigned held = type->getScalarSizeInBits(), bits = narrowBits(dtype) ? narrowBits(dtype) : held;
  switch (op) {
    case ReduceOp::sum:
      return llvm::Constant::getNullValue(type);
    case ReduceOp::product:
      return real ? splat(type, 1) : splatInt(type, 1);
    case ReduceOp::logicalAnd:
      return llvm::Constant::getAllOnesValue(type);
    case ReduceOp::logicalOr:
      return llvm::Constant::getNullValue(type);
    case ReduceOp::minimum:
      if (real) return llvm::ConstantFP::getInfinity(type);
      return llvm::ConstantInt::get(type, isSignedInteger(dtype)
                                              ? llvm::APInt::getSignedMaxValue(bits).sext(held)
                                              : llvm::APInt::getMaxValue(bits).zext(held));
    case ReduceOp::maximum:
      if (real) return llvm::ConstantFP::getInfinity(type, true);
      return llvm::ConstantInt::get(type, isSignedInteger(dtype)
                                              ? llvm::APInt::getSignedMinValue(bits).sext(held)
                                              : llvm::APInt::getMinValue(bits).zext(held));
  }
  return nullptr;
}

Value* ScalarEmitter::extremeOfNumbers(ReduceOp op, Value* a, Value* b) {
  return b_.CreateSelect(op == ReduceOp::minimum ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b), a, b);
}

Value* ScalarEmitter::combine(ReduceOp op, Value* accumulator, Value* value, Dtype dtype) {
  switch (op) {
    case ReduceOp::sum:
      return binary(BinaryOp::add, accumulator, value, dtype);
    case ReduceOp::product:
      return binary(BinaryOp::mul, accumulator, value, dtype);
    // In this order the next value waits for the comparison alone: whether `value` is NaN is known before.
    case ReduceOp::minimum:
      return minMax(true, value, accumulator, dtype);
    case ReduceOp::maximum:
      return minMax(false, value, accumulator, dtype);
    case ReduceOp::logicalAnd:
      return b_.CreateAnd(accumulator, value);
    case ReduceOp::logicalOr:
      return b_.CreateOr(accumulator, value);
  }
  return nullptr;
}

}  // namespace dyn
