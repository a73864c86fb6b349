#include "compiler/codegen/vector_math.h"

#include <string>

#include "compiler/codegen/vector_math_parts.h"
#include "llvm/IR/Module.h"

namespace dyn {

const std::vector<MathFunctionRow>& mathFunctionTable() {
  static const std::vector<MathFunctionRow> rows = {
#define DYN_MATH_FUNCTION(name, arity, floatLibm, doubleLibm, form) \
  {MathFunction::name, #name, arity, floatLibm, doubleLibm, MathForm::form},
#include "compiler/codegen/math_functions.def"
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

llvm::Value* emitMath(MathFunction function, llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y) {
  MathParts parts(builder);
  const MathFunctionRow& row = mathFunctionRow(function);
  const bool single = x->getType()->getScalarType()->isFloatTy();
  if (single && row.form == MathForm::polynomial) {
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
      default:
        break;  // the table has no other row of this form; a test walks it
    }
  }
  if (function == MathFunction::sigmoid) {  // libm has none: 1 / (1 + exp(-x))
    llvm::Value* e = emitLibraryCall("exp", builder, {builder.CreateFNeg(x)});
    return builder.CreateFDiv(parts.number(x, 1.0), builder.CreateFAdd(parts.number(x, 1.0), e));
  }
  std::vector<llvm::Value*> arguments = {x};
  if (row.arity == 2) arguments.push_back(y);
  return emitLibraryCall(single ? row.floatLibm : row.doubleLibm, builder, arguments);
}

}  // namespace dyn
