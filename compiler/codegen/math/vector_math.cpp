#include "compiler/codegen/math/vector_math.h"

#include <string>

#include "compiler/codegen/math/vector_math_parts.h"
#include "llvm/IR/Module.h"

namespace dyn {

const std::vector<MathFunctionRow>& mathFunctionTable() {
  static const std::vector<MathFunctionRow> rows = {
#define DYN_MATH_FUNCTION(name, arity, floatLibm, doubleLibm, floatUlp, doubleUlp, form) \
  {MathFunction::name, #name, arity, floatLibm, doubleLibm, floatUlp, doubleUlp, MathForm::form},
#include "compiler/codegen/math/math_functions.def"
#undef DYN_MATH_FUNCTION
  };
  return rows;
}

const MathFunctionRow& mathFunctionRow(MathFunction function) {
  return mathFunctionTable()[static_cast<size_t>(function)];
}

llvm::Value* emitLibraryCall(std::string_view libmName, llvm::IRBuilderBase& builder,
                             const std::vector<llvm::Value*>& arguments) {
  llvm::Type* type = arguments[0]->getType();
  llvm::Type* element = type->getScalarType();
  std::vector<llvm::Type*> types(arguments.size(), element);
  llvm::Module* module = builder.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction(llvm::StringRef(libmName.data(), libmName.size()),
                                                            llvm::FunctionType::get(element, types, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();  // errno is never read by kernels
    function->setWillReturn();
  }
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return builder.CreateCall(callee, arguments);
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<llvm::Value*> lanes;
    for (llvm::Value* argument : arguments) lanes.push_back(builder.CreateExtractElement(argument, lane));
    result = builder.CreateInsertElement(result, builder.CreateCall(callee, lanes), lane);
  }
  return result;
}

llvm::Value* emitRareLanes(MathParts& m, MathFunction function, llvm::Value* rare, llvm::Value* usual,
                           const std::vector<llvm::Value*>& arguments) {
  llvm::IRBuilderBase& b = m.b;
  const MathFunctionRow& row = mathFunctionRow(function);
  llvm::Value* any = rare->getType()->isVectorTy() ? b.CreateOrReduce(rare) : rare;
  llvm::Function* kernel = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* library = llvm::BasicBlock::Create(b.getContext(), "rare.library", kernel);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b.getContext(), "rare.after", kernel);
  b.CreateCondBr(any, library, after);

  // Only the rare lanes take libm's answer: the bits of a lane never depend on its neighbours.
  b.SetInsertPoint(library);
  llvm::Value* called =
      hasNoLibrary(b) ? emitRareOnDevice(m, function, arguments)
                      : emitLibraryCall(m.isSingle(usual) ? row.floatLibm : row.doubleLibm, b, arguments);
  llvm::Value* mixed = b.CreateSelect(rare, called, usual);
  llvm::BasicBlock* libraryEnd = b.GetInsertBlock();
  b.CreateBr(after);

  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(usual->getType(), 2);
  result->addIncoming(usual, before);
  result->addIncoming(mixed, libraryEnd);
  return result;
}

llvm::Value* emitMath(MathFunction function, llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y) {
  MathParts parts(builder);
  switch (function) {
    case MathFunction::exp:
      return emitExp(parts, x);
    case MathFunction::log:
      return emitLog(parts, x);
    case MathFunction::tanh:
      return emitTanh(parts, x);
    case MathFunction::erf:
      return emitErf(parts, x);
    case MathFunction::sigmoid:
      return emitSigmoid(parts, x);
    case MathFunction::sin:
      return emitCircular(parts, x, Circular::sine);
    case MathFunction::cos:
      return emitCircular(parts, x, Circular::cosine);
    case MathFunction::pow:
      return emitPow(parts, x, y);
    case MathFunction::expm1:
      return emitExpMinusOne(parts, x);
    case MathFunction::log1p:
      return emitLogOnePlus(parts, x);
    case MathFunction::tan:
      return emitCircular(parts, x, Circular::tangent);
    case MathFunction::asin:
      return emitArcSine(parts, x);
    case MathFunction::acos:
      return emitArcCosine(parts, x);
    case MathFunction::atan:
      return emitArcTangent(parts, x);
    case MathFunction::sinh:
      return emitHyperbolic(parts, x, Hyperbolic::sine);
    case MathFunction::cosh:
      return emitHyperbolic(parts, x, Hyperbolic::cosine);
    case MathFunction::asinh:
      return emitArea(parts, x, Area::sine);
    case MathFunction::acosh:
      return emitArea(parts, x, Area::cosine);
    case MathFunction::atanh:
      return emitArea(parts, x, Area::tangent);
    case MathFunction::fmod:
      return emitRemainder(parts, x, y);
  }
  return nullptr;
}

}  // namespace dyn
