// What lanes of form rareLanes compute where there is no C library: on a GPU.
//
// sin, cos, tan of large arguments: x = m 2^e with whole m of 53 bits. Of 2/pi only the 256 bits count that
// neither are multiples of 4 after the product nor lie far behind the point: a window into a table. m times
// the window is quadrant and fraction in fixed point, exact enough that 60 leading zeros of the fraction
// leave a double's digits (the least a double can have).
// fmod: long division of the mantissas, eleven bits of quotient at a time; exact.
#include <array>

#include "compiler/codegen/llvm/device_primitives.h"
#include "compiler/codegen/math/vector_math.h"
#include "compiler/codegen/math/vector_math_parts.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

namespace dyn {

using llvm::Value;

namespace {

// 64 bits each behind the point.
constexpr std::array<uint64_t, 19> kTwoOverPi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};
constexpr double kDeviceHalfPi = 0x1.921fb54442d18p+0, kDeviceHalfPiRest = 0x1.1a62633145c07p-54;
constexpr int kWindow = 4;  // words

// A double's parts: |x| = mantissa 2^(exponent - 1075).
struct ExponentParts {
  Value *mantissa, *exponent;  // i64
};

ExponentParts partsOf(llvm::IRBuilderBase& b, Value* x) {
  Value* bits = b.CreateAnd(b.CreateBitCast(x, b.getInt64Ty()), b.getInt64(~uint64_t{0} >> 1));
  Value* field = b.CreateLShr(bits, 52);
  Value* fraction = b.CreateAnd(bits, b.getInt64((uint64_t{1} << 52) - 1));
  Value* isNormal = b.CreateICmpNE(field, b.getInt64(0));
  return {b.CreateSelect(isNormal, b.CreateOr(fraction, b.getInt64(uint64_t{1} << 52)), fraction),
          b.CreateSelect(isNormal, field, b.getInt64(1))};
}

Value* isFinite(MathParts& m, Value* x) {
  return m.b.CreateFCmpOLT(m.absolute(x), llvm::ConstantFP::getInfinity(x->getType()));
}

// Words first, first + 1, ... of 2/pi behind one of zeros; `mostFirst` bounds `first`.
std::array<Value*, kWindow> windowOf(llvm::IRBuilderBase& b, Value* first, int mostFirst) {
  std::vector<Value*> words{b.getInt64(0)};
  for (const uint64_t word : kTwoOverPi) words.push_back(b.getInt64(word));
  int step = 1;
  while (step <= mostFirst) step *= 2;
  for (step /= 2; step > 0; step /= 2) {
    Value* on = b.CreateICmpNE(b.CreateAnd(first, b.getInt64(static_cast<uint64_t>(step))), b.getInt64(0));
    const size_t left = static_cast<size_t>(step - 1 + kWindow);
    std::vector<Value*> chosen;
    for (size_t i = 0; i < left; ++i) {
      const size_t further = i + static_cast<size_t>(step);
      Value* there = further < words.size() ? words[further] : b.getInt64(0);
      chosen.push_back(b.CreateSelect(on, there, words[i]));
    }
    words = std::move(chosen);
  }
  return {words[0], words[1], words[2], words[3]};
}

// x - n pi/2 = r + rest, and n (its last bits).
struct DeviceReduced {
  Value *r, *rest, *quadrant;
};

DeviceReduced reducedExactly(MathParts& m, Value* x, int mostExponent) {
  llvm::IRBuilderBase& b = m.b;
  llvm::Type* i64 = b.getInt64Ty();
  const ExponentParts parts = partsOf(b, x);
  // Bits of the window: those that the product does not make multiples of 4.
  Value* from = b.CreateAdd(parts.exponent, b.getInt64(static_cast<uint64_t>(int64_t{62} - 1075)));
  const std::array<Value*, kWindow> window = windowOf(b, b.CreateLShr(from, 6), (mostExponent - 1013) >> 6);
  std::array<Value*, kWindow> product;
  Value* carry = b.getInt64(0);
  for (size_t i = kWindow; i-- > 0;) {
    Value* low = b.CreateMul(parts.mantissa, window[i]);
    Value* high = upperProduct(b, parts.mantissa, window[i]);
    product[i] = b.CreateAdd(low, carry);
    carry = b.CreateAdd(high, b.CreateZExt(b.CreateICmpULT(product[i], low), i64));
  }
  Value* shift = b.CreateAnd(from, b.getInt64(63));
  Value* back = b.CreateSub(b.getInt64(63), shift);
  for (size_t i = 0; i + 1 < kWindow; ++i)
    product[i] = b.CreateOr(b.CreateShl(product[i], shift),
                            b.CreateLShr(b.CreateLShr(product[i + 1], uint64_t{1}), back));
  // Two bits of quadrant, then the fraction; of the latter what is above a half counts from above.
  Value* high = b.CreateOr(b.CreateShl(product[0], 2), b.CreateLShr(product[1], 62));
  Value* low = b.CreateOr(b.CreateShl(product[1], 2), b.CreateLShr(product[2], 62));
  Value* above = b.CreateLShr(high, 63);
  Value* quadrant = b.CreateAdd(b.CreateLShr(product[0], 62), above);
  llvm::Type* f64 = b.getDoubleTy();
  const auto real = [&](double value) { return llvm::ConstantFP::get(f64, value); };
  Value* head = b.CreateSIToFP(b.CreateAnd(high, b.getInt64(~uint64_t{2047})), f64);
  Value* tail = b.CreateSIToFP(b.CreateAnd(high, b.getInt64(2047)), f64);
  Value* last = b.CreateFMul(b.CreateUIToFP(low, f64), real(0x1p-64));
  // As whole numbers of 2^-64; head and tail + last as the nearest double and what it lacks.
  Value* small = b.CreateFAdd(tail, last);
  Value* whole = b.CreateFAdd(head, small);
  Value* lost = b.CreateFSub(small, b.CreateFSub(whole, head));
  lost = b.CreateFAdd(lost, b.CreateFSub(last, b.CreateFSub(small, tail)));
  whole = b.CreateFMul(whole, real(0x1p-64));
  lost = b.CreateFMul(lost, real(0x1p-64));
  Value* r = b.CreateFMul(whole, real(kDeviceHalfPi));
  Value* error =
      b.CreateIntrinsic(llvm::Intrinsic::fma, {f64}, {whole, real(kDeviceHalfPi), b.CreateFNeg(r)});
  Value* rest = b.CreateFAdd(error, b.CreateFAdd(b.CreateFMul(whole, real(kDeviceHalfPiRest)),
                                                 b.CreateFMul(lost, real(kDeviceHalfPi))));
  Value* negative = b.CreateFCmpOLT(x, real(0));
  return {b.CreateSelect(negative, b.CreateFNeg(r), r), b.CreateSelect(negative, b.CreateFNeg(rest), rest),
          b.CreateSelect(negative, b.CreateNeg(quadrant), quadrant)};
}

Value* largeCircular(MathParts& m, Value* x, Circular which) {
  llvm::IRBuilderBase& b = m.b;
  const bool single = m.isSingle(x);
  constexpr int kMostOfFloat = 1023 + 127, kMostOfDouble = 2046;
  const DeviceReduced reduced =
      reducedExactly(m, single ? m.toDouble(x) : x, single ? kMostOfFloat : kMostOfDouble);
  Value* value = single ? emitCircularOfReduced(m, m.toFloat(b.CreateFAdd(reduced.r, reduced.rest)), nullptr,
                                                b.CreateTrunc(reduced.quadrant, b.getInt32Ty()), which)
                        : emitCircularOfReduced(m, reduced.r, reduced.rest, reduced.quadrant, which);
  return m.choose(isFinite(m, x), value, llvm::ConstantFP::getNaN(x->getType()));
}

Value* longRemainder(MathParts& m, Value* x, Value* y) {
  llvm::IRBuilderBase& b = m.b;
  const bool single = m.isSingle(x);
  Value *dividend = single ? m.toDouble(x) : x, *divisor = single ? m.toDouble(y) : y;
  const ExponentParts a = partsOf(b, dividend), by = partsOf(b, divisor);
  const auto number = [&](uint64_t n) { return b.getInt64(n); };
  Value* isZero = b.CreateICmpEQ(by.mantissa, number(0));
  Value* mantissa = b.CreateSelect(isZero, number(1), by.mantissa);
  // |x| < |y| where the exponent is less: nothing to divide.
  Value* less = b.CreateICmpSLT(a.exponent, by.exponent);
  llvm::Function* kernel = b.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, kernel); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = block("divide"), *iteration = block("divide.more"),
                   *after = block("divided");
  Value* first = b.CreateURem(a.mantissa, mantissa);
  Value* bits = b.CreateSelect(less, number(0), b.CreateSub(a.exponent, by.exponent));
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode *rest = b.CreatePHI(b.getInt64Ty(), 2), *left = b.CreatePHI(b.getInt64Ty(), 2);
  rest->addIncoming(first, before);
  left->addIncoming(bits, before);
  b.CreateCondBr(b.CreateICmpSGT(left, number(0)), iteration, after);
  b.SetInsertPoint(iteration);
  Value* step = b.CreateSelect(b.CreateICmpSLT(left, number(11)), left, number(11));
  rest->addIncoming(b.CreateURem(b.CreateShl(rest, step), mantissa), iteration);
  left->addIncoming(b.CreateSub(left, step), iteration);
  b.CreateBr(header);
  b.SetInsertPoint(after);
  // rest 2^(exponent of y), its leading bit where a double has it, or as far as denormals go.
  Value* zeros = b.CreateSub(b.CreateIntrinsic(llvm::Intrinsic::ctlz, {b.getInt64Ty()}, {rest, b.getFalse()}),
                             number(11));
  Value* most = b.CreateSub(by.exponent, number(1));
  Value* up = b.CreateSelect(b.CreateICmpSLT(zeros, most), zeros, most);
  Value* field = b.CreateSub(most, up);
  Value* made = b.CreateAdd(b.CreateShl(rest, up), b.CreateShl(field, 52));
  made = b.CreateSelect(b.CreateICmpEQ(rest, number(0)), number(0), made);
  Value* value = m.withSignOf(b.CreateBitCast(made, b.getDoubleTy()), dividend);
  value = b.CreateSelect(less, dividend, value);
  Value* isNumber = b.CreateAnd(b.CreateAnd(isFinite(m, dividend), b.CreateNot(isZero)),
                                b.CreateFCmpORD(dividend, divisor));
  value = b.CreateSelect(isNumber, value, llvm::ConstantFP::getNaN(b.getDoubleTy()));
  return single ? m.toFloat(value) : value;
}

}  // namespace

bool hasNoLibrary(llvm::IRBuilderBase& builder) {
  const llvm::Module& module = *builder.GetInsertBlock()->getModule();
  return isAmdGpu(module) || llvm::Triple(module.getTargetTriple()).isNVPTX();
}

Value* emitRareOnDevice(MathParts& m, MathFunction function, const std::vector<Value*>& arguments) {
  switch (function) {
    case MathFunction::sin:
      return largeCircular(m, arguments[0], Circular::sine);
    case MathFunction::cos:
      return largeCircular(m, arguments[0], Circular::cosine);
    case MathFunction::tan:
      return largeCircular(m, arguments[0], Circular::tangent);
    default:
      return longRemainder(m, arguments[0], arguments[1]);
  }
}

}  // namespace dyn
