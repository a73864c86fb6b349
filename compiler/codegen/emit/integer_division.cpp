// Division of vectors of integers, which no machine here has: by way of reals. Divisors that are constants
// become multiplications in LLVM.
#include "compiler/codegen/emit/scalar_emitter.h"

namespace dyn {

using llvm::Value;
using loop::BinaryOp;

// Up to 32 bits a quotient of doubles (16: of floats) has bits enough: a / b lies further below a whole
// number than rounding reaches.
Value* ScalarEmitter::divide(Value* a, Value* b, Dtype dtype) {
  const bool isSigned = isSignedInteger(dtype);
  llvm::Type* type = a->getType();
  const unsigned bits = type->getScalarSizeInBits();
  if (!type->isVectorTy() || bits > 32 || llvm::isa<llvm::Constant>(b))
    return isSigned ? b_.CreateSDiv(a, b) : b_.CreateUDiv(a, b);
  llvm::Type* real = withLanesOf(type, bits == 32 ? b_.getDoubleTy() : b_.getFloatTy());
  auto widened = [&](Value* v) { return isSigned ? b_.CreateSIToFP(v, real) : b_.CreateUIToFP(v, real); };
  Value* quotient = b_.CreateFDiv(widened(a), widened(b));
  // -2^31 / -1 alone does not fit, and the caller sees to it.
  llvm::Type* i32 = withLanesOf(type, b_.getInt32Ty());
  Value* whole = isSigned || bits < 32 ? b_.CreateFPToSI(quotient, i32) : b_.CreateFPToUI(quotient, i32);
  return bits == 32 ? whole : b_.CreateTrunc(whole, type);
}

Value* ScalarEmitter::floored(Value* quotient, Value* a, Value* b, Dtype dtype) {
  if (!isSignedInteger(dtype)) return quotient;
  llvm::Type* type = a->getType();
  Value* rest = b_.CreateSub(a, b_.CreateMul(quotient, b));
  Value* inexact = b_.CreateICmpNE(rest, splatInt(type, 0));
  Value* opposite = b_.CreateICmpSLT(b_.CreateXor(rest, b), splatInt(type, 0));
  return b_.CreateSub(quotient, b_.CreateZExt(b_.CreateAnd(inexact, opposite), type));
}

Value* ScalarEmitter::divisionBySize(BinaryOp op, Value* a, Value* b, Dtype dtype) {
  Value* quotient = quotientBySize(a, b, dtype);
  if (op == BinaryOp::floorDiv || op == BinaryOp::mod) quotient = floored(quotient, a, b, dtype);
  if (op == BinaryOp::div || op == BinaryOp::floorDiv) return quotient;
  return b_.CreateSub(a, b_.CreateMul(quotient, b));
}

// A branch decides whether all lanes are of -2^51 <= n < 2^51. A quotient q = trunc(a / b) of such is right:
// to the next whole number, q + 1, a / b lacks 1 / b at least, and rounding reaches (q + 1) / 2^53, which is
// less, as b * (q + 1) <= a + b. Integers of that size are converted by the digits of 1.5 * 2^52 + n, which
// any machine does by vectors.
Value* ScalarEmitter::quotientBySize(Value* a, Value* b, Dtype dtype) {
  constexpr double kOne = 6755399441055744.0;  // 1.5 * 2^52: its last digit is worth 1
  constexpr int64_t kBits = 0x4338000000000000, kHalf = int64_t{1} << 51, kRange = int64_t{1} << 52;
  const bool isSigned = isSignedInteger(dtype);
  llvm::Type* type = a->getType();
  llvm::Type* reals = withLanesOf(type, b_.getDoubleTy());
  auto above = [&](Value* v) {
    return b_.CreateAnd(isSigned ? b_.CreateAdd(v, splatInt(type, kHalf)) : v,
                        splatInt(type, isSigned ? -kRange : -kHalf));
  };
  Value* large = b_.CreateOrReduce(b_.CreateOr(above(a), above(b)));
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* narrow = llvm::BasicBlock::Create(b_.getContext(), "divide.small", function);
  auto* wide = llvm::BasicBlock::Create(b_.getContext(), "divide.large", function);
  auto* join = llvm::BasicBlock::Create(b_.getContext(), "divide.join", function);
  b_.CreateCondBr(b_.CreateICmpEQ(large, b_.getInt64(0)), narrow, wide);
  b_.SetInsertPoint(narrow);
  auto asReal = [&](Value* v) {
    return b_.CreateFSub(b_.CreateBitCast(b_.CreateAdd(v, splatInt(type, kBits)), reals), splat(reals, kOne));
  };
  Value* quotient = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b_.CreateFDiv(asReal(a), asReal(b)));
  Value* ofSmall = b_.CreateSub(b_.CreateBitCast(b_.CreateFAdd(quotient, splat(reals, kOne)), type),
                                splatInt(type, kBits));
  b_.CreateBr(join);
  b_.SetInsertPoint(wide);
  Value* ofAny = isSigned ? b_.CreateSDiv(a, b) : b_.CreateUDiv(a, b);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode* result = b_.CreatePHI(type, 2);
  result->addIncoming(ofSmall, narrow);
  result->addIncoming(ofAny, wide);
  return result;
}

}  // namespace dyn
