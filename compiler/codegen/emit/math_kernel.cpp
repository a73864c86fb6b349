#include "compiler/codegen/emit/math_kernel.h"

#include "compiler/codegen/llvm/llvm_module.h"

namespace dyn {
namespace {

using llvm::BasicBlock;
using llvm::Value;

struct Operands {
  MathFunction function;
  Value *x, *y, *out;  // base pointers; y null for one argument
  llvm::Type* element;
};

// for (i = from; i + width <= to; i += width) out[i..] = f(x[i..], y[i..]); returns the i it ends with.
Value* emitLoop(llvm::IRBuilder<>& b, const Operands& operands, Value* from, Value* to, unsigned width) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  BasicBlock* before = b.GetInsertBlock();
  BasicBlock* body = BasicBlock::Create(b.getContext(), "body", function);
  BasicBlock* after = BasicBlock::Create(b.getContext(), "after", function);
  Value* last = b.CreateSub(to, b.getInt64(width));  // the last i that may start a step
  b.CreateCondBr(b.CreateICmpSLE(from, last), body, after);

  b.SetInsertPoint(body);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2, "i");
  i->addIncoming(from, before);
  llvm::Type* type = width == 1 ? operands.element : llvm::FixedVectorType::get(operands.element, width);
  const llvm::Align align(operands.element->getScalarSizeInBits() / 8);
  auto at = [&](Value* base) { return b.CreateInBoundsGEP(operands.element, base, i); };
  Value* x = b.CreateAlignedLoad(type, at(operands.x), align);
  Value* y = operands.y ? b.CreateAlignedLoad(type, at(operands.y), align) : nullptr;
  b.CreateAlignedStore(emitMath(operands.function, b, x, y), at(operands.out), align);
  Value* next = b.CreateAdd(i, b.getInt64(width));
  i->addIncoming(next, b.GetInsertBlock());
  BasicBlock* bodyEnd = b.GetInsertBlock();
  forbidUnrolling(b.CreateCondBr(b.CreateICmpSLE(next, last), body, after));

  b.SetInsertPoint(after);
  llvm::PHINode* end = b.CreatePHI(b.getInt64Ty(), 2);
  end->addIncoming(from, before);
  end->addIncoming(next, bodyEnd);
  return end;
}

}  // namespace

std::string mathKernelSymbol(MathFunction function, FloatType type) {
  return "dyn_math_" + std::string(mathFunctionRow(function).name) +
         (type == FloatType::float32 ? "_f32" : "_f64");
}

Result<KernelModule> emitMathKernel(MathFunction function, FloatType type,
                                    const MachineDescription& machine) {
  const std::string symbol = mathKernelSymbol(function, type);
  DYN_TRY(KernelModule module, makeKernelModule(symbol, machine));
  llvm::Function* kernel = addKernelFunction(module, symbol);
  llvm::IRBuilder<> b(BasicBlock::Create(module.contents().context(), "entry", kernel));
  Value* buffers = kernel->getArg(0);
  auto buffer = [&](unsigned index) -> Value* {
    return b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), buffers, index));
  };
  Operands operands{function, buffer(0), nullptr, nullptr,
                    type == FloatType::float32 ? b.getFloatTy() : b.getDoubleTy()};
  unsigned next = 1;
  if (mathFunctionRow(function).arity == 2) operands.y = buffer(next++);
  operands.out = buffer(next);
  const unsigned width = static_cast<unsigned>(machine.vectorBits) / operands.element->getScalarSizeInBits();
  Value* done = emitLoop(b, operands, kernel->getArg(2), kernel->getArg(3), width);
  emitLoop(b, operands, done, kernel->getArg(3), 1);
  b.CreateRet(b.getInt32(0));
  return module;
}

}  // namespace dyn
