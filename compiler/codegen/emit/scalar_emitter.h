// Internal to codegen: one operation of the loop IR on values that are already computed, scalars or vectors
// alike.
//
// Values are held as: boolean i1; integers iN; f32 float; f64 double; f16 and bf16 as float, rounded to their
// dtype after every operation.
#pragma once

#include "compiler/codegen/llvm/llvm_module.h"
#include "compiler/loop/expr.h"

namespace dyn {

// The LLVM type a value of the dtype is computed in; null when there is no arithmetic on it here.
llvm::Type* valueType(llvm::LLVMContext& context, Dtype dtype);
// The LLVM type of one element in memory.
llvm::Type* memoryType(llvm::LLVMContext& context, Dtype dtype);
// `scalar`, or a vector of it with as many lanes as `like` has.
llvm::Type* withLanesOf(llvm::Type* like, llvm::Type* scalar);
bool isSignedInteger(Dtype d);

class ScalarEmitter {
 public:
  explicit ScalarEmitter(llvm::IRBuilder<>& builder) : b_(builder) {}

  llvm::Value* fromMemory(llvm::Value* element, Dtype dtype);
  llvm::Value* toMemory(llvm::Value* value, Dtype dtype);
  llvm::Value* unary(loop::UnaryOp op, llvm::Value* a, Dtype dtype);
  // Divisors of integer divisions must be non-zero (the caller guards them).
  llvm::Value* binary(loop::BinaryOp op, llvm::Value* a, llvm::Value* b, Dtype dtype);
  // The four divisions of vectors of 64-bit integers: by way of reals where all lanes are small, which is
  // decided by a branch.
  llvm::Value* divisionBySize(loop::BinaryOp op, llvm::Value* a, llvm::Value* b, Dtype dtype);
  // Reals: all lanes of `a` to one exponent, a scalar. The few that most models have multiply or take a root;
  // which it is decides a branch, where the exponent is not a constant.
  llvm::Value* powerOfUniform(llvm::Value* a, llvm::Value* exponent, Dtype dtype);
  // Integers: all lanes of `a` to one exponent, a scalar. Small ones multiply, as above.
  llvm::Value* integerPowerOfUniform(llvm::Value* a, llvm::Value* exponent, Dtype dtype);
  llvm::Value* cast(llvm::Value* a, Dtype from, Dtype to);
  // The same between reals and integers of 64 bits, on machines that convert no vectors of such: by way of 32
  // bits where all lanes are small, which is decided by a branch.
  llvm::Value* castBySize(llvm::Value* a, Dtype from, Dtype to);
  llvm::Value* saturated(llvm::Value* a, llvm::Type* target, bool isSigned);
  llvm::Value* roundedToOdd(llvm::Value* a, llvm::Type* target);
  llvm::Value* wrapped(llvm::Value* value, Dtype dtype);
  // Rounds a float that stands for an f16 or bf16 to that dtype; others are returned as they are.
  llvm::Value* round(llvm::Value* value, Dtype dtype);
  // The constant, in every lane of `like`'s type.
  llvm::Value* splat(llvm::Type* like, double value);
  llvm::Value* splatInt(llvm::Type* like, int64_t value);
  // Combines accumulator and value; the neutral element.
  llvm::Value* combine(loop::ReduceOp op, llvm::Value* accumulator, llvm::Value* value, Dtype dtype);
  // The smaller or the larger of two reals that are no NaN.
  llvm::Value* extremeOfNumbers(loop::ReduceOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* neutral(loop::ReduceOp op, llvm::Type* type, Dtype dtype);

 private:
  // `value` as numbers of two bytes, where it is only chosen among such; null otherwise.
  llvm::Value* asStored(llvm::Value* value, Dtype dtype, int depth);
  // a^exponent for an exponent of powerOfUniform's list.
  llvm::Value* easyPower(llvm::Value* a, double exponent);
  // Rounded toward 0.
  llvm::Value* divide(llvm::Value* a, llvm::Value* b, Dtype dtype);
  llvm::Value* quotientBySize(llvm::Value* a, llvm::Value* b, Dtype dtype);
  // Of the quotient a / b that is rounded toward 0: the one that is rounded down.
  llvm::Value* floored(llvm::Value* quotient, llvm::Value* a, llvm::Value* b, Dtype dtype);
  llvm::Value* integerPower(llvm::Value* base, llvm::Value* exponent, Dtype dtype);
  llvm::Value* shift(loop::BinaryOp op, llvm::Value* a, llvm::Value* b, Dtype dtype);
  llvm::Value* minMax(bool wantMin, llvm::Value* a, llvm::Value* b, Dtype dtype);
  llvm::IRBuilder<>& b_;
};

}  // namespace dyn
