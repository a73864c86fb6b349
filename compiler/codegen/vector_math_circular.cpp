// sin and cos. The argument is reduced in double: x - n pi/2 with pi/2 in two parts, the first of 33 bits, so that n times it is exact for
// n < 2^20. Lanes with a larger argument (rare: no activation or position code reaches it) go to libm.
#include "compiler/codegen/vector_math.h"
#include "compiler/codegen/vector_math_parts.h"

namespace dyn {

using llvm::Value;

namespace {

constexpr double kLargest = 1e6;

Value* reduced(MathParts& m, Value* x, Circular which) {
  llvm::IRBuilderBase& b = m.b;
  Value* wide = m.toDouble(x);
  MathParts::Whole n = m.nearest(b.CreateFMul(wide, m.number(wide, 0.636619772367581343)));
  Value* r = m.multiplyAdd(n.asFloat, m.number(wide, -0x1.921fb544p+0), wide);
  r = m.multiplyAdd(n.asFloat, m.number(wide, -0x1.0b4611a626331p-34), r);
  Value* quadrant = b.CreateTrunc(n.asInteger, m.integerType(x));
  if (which == Circular::cosine) quadrant = b.CreateAdd(quadrant, m.integer(x, 1));

  Value* f = m.toFloat(r);
  Value* square = b.CreateFMul(f, f);
  Value* sineTail = m.polynomial(square, {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00f76p-13, 0x1.6ccffap-19});
  Value* sine = m.multiplyAdd(b.CreateFMul(square, f), sineTail, f);
  Value* cosineTail = m.polynomial(square, {0x1.55554ap-5, -0x1.6c0c2cp-10, 0x1.99e928p-16});
  Value* cosine = m.multiplyAdd(b.CreateFMul(square, square), cosineTail,
                                m.multiplyAdd(square, m.number(x, -0.5), m.number(x, 1.0)));
  Value* swap = b.CreateICmpNE(b.CreateAnd(quadrant, m.integer(x, 1)), m.integer(x, 0));
  Value* value = b.CreateSelect(swap, cosine, sine);
  Value* negative =
      b.CreateShl(b.CreateAnd(quadrant, m.integer(x, 2)), m.integer(x, 30));  // bit 1 to the sign bit
  value = b.CreateBitCast(b.CreateXor(m.bits(value), negative), x->getType());
  // x - 0 * pi/2 loses the sign of -0.
  return which == Circular::sine ? b.CreateSelect(b.CreateFCmpOEQ(x, m.number(x, 0.0)), x, value) : value;
}

}  // namespace

Value* emitCircular(MathParts& m, Value* x, Circular which) {
  llvm::IRBuilderBase& b = m.b;
  Value* large = b.CreateFCmpUGT(m.absolute(x), m.number(x, kLargest));  // NaN and infinity, too
  Value* usual = reduced(m, b.CreateSelect(large, m.number(x, 0.0), x), which);
  Value* any = x->getType()->isVectorTy() ? b.CreateOrReduce(large) : large;
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* library = llvm::BasicBlock::Create(b.getContext(), "circular.library", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b.getContext(), "circular.after", function);
  b.CreateCondBr(any, library, after);

  // Only the large lanes take libm's answer: the bits of a lane never depend on its neighbours.
  b.SetInsertPoint(library);
  Value* called = emitLibraryCall(which == Circular::sine ? "sinf" : "cosf", b, {x});
  Value* mixed = b.CreateSelect(large, called, usual);
  llvm::BasicBlock* libraryEnd = b.GetInsertBlock();
  b.CreateBr(after);

  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(usual, before);
  result->addIncoming(mixed, libraryEnd);
  return result;
}

}  // namespace dyn
