#include "compiler/lower/builtin_lowering.h"

#include "compiler/lower/kernel_lowering.h"
#include "compiler/ops/contraction/contraction.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

namespace {

// The builtin knows matrices only: [k] x ... is [1, k] x ..., and ... x [k] is ... x [k, 1], with the same
// axis in the result.
Status viewVectorsAsMatrices(FunctionLowering& c, const Op& op, std::span<const Type> types,
                             std::vector<int32_t>& arguments, std::vector<int32_t>& results,
                             std::vector<int32_t>& views) {
  const bool leftVector = types[0].rank() == 1,
             rightVector = op.def->traits.matrixOperands > 1 && types[1].rank() == 1;
  if (!leftVector && !rightVector) return {};
  const Dim one = c.ir().dims().constant(1);
  auto view = [&](int32_t& object, const Shape& shape) -> Status {
    DYN_TRY(std::vector<int32_t> scalars, c.shapeRegisters(shape));
    views.push_back(c.newObject());
    c.emit(Opcode::reshapeTensor, views.back(), object, OperandList(scalars));
    object = views.back();
    return {};
  };
  Shape result = op.results[0].type.dims();
  if (leftVector) {
    DYN_CHECK(view(arguments[0], {one, types[0].dims()[0]}));
    result.insert(rightVector ? result.end() : result.end() - 1, one);
  }
  if (rightVector) {
    DYN_CHECK(view(arguments[1], {types[1].dims()[0], one}));
    result.push_back(one);
  }
  return view(results[0], result);
}

}  // namespace

Status lowerBuiltin(FunctionLowering& c, const Op& op, std::span<const ValueId> operands,
                    std::span<const int32_t> destinations, bool into, const KernelCall* epilogue) {
  if (op.def->builtin.traits.is(calls::GEMM)) c.program().needGemmFamily();
  const BuiltinUse& use = op.def->builtin;
  std::vector<Type> operandTypes;
  for (ValueId v : operands) operandTypes.push_back(v == kNoValue ? Type() : c.typeOf(v));
  EpilogueNumber inner;
  if (epilogue) inner = {1 + epilogue->kernel, epilogue->form};
  if (inner.kernelPlusOne > EpilogueNumber::kMostKernels)
    return makeError(DiagnosticId::unsupportedFeature, "a program of so many kernels");
  DYN_TRY(BuiltinCall call, use.describe({op, operandTypes, inner.number()}));
  operands = operands.first(use.handed(op, operands.size()));
  std::vector<int32_t> arguments, scalars;
  for (ValueId v : operands) {
    if (v == kNoValue) {
      // An absent optional is an empty register.
      arguments.push_back(c.newLastingObject());
      continue;
    }
    DYN_TRY(int32_t o, c.object(v));
    arguments.push_back(o);
  }
  for (Dim d : call.scalars) {
    DYN_TRY(int32_t s, c.dims().emit(d));
    scalars.push_back(s);
  }
  std::vector<int32_t> results(destinations.begin(), destinations.end());
  std::vector<int32_t> views;
  if (epilogue) {
    arguments.insert(arguments.end(), epilogue->buffers.begin(),
                     epilogue->buffers.end() - 1);  // the last is the result
    scalars.insert(scalars.end(), epilogue->scalars.begin(), epilogue->scalars.end());
  }
  if (op.def->traits.matrixOperands > 0)
    DYN_CHECK(viewVectorsAsMatrices(c, op, operandTypes, arguments, results, views));
  c.emit(into ? Opcode::callBuiltinInto : Opcode::callBuiltin, c.program().builtin(op.def->builtinOf(op)),
         OperandList(results), OperandList(arguments), OperandList(scalars), OperandList(call.numbers));
  for (int32_t view : views) c.kill(view);
  return {};
}

Status lowerPacking(FunctionLowering& c, const Op& op) {
  if (op.def->builtin.traits.is(calls::GEMM)) c.program().needGemmFamily();
  const std::vector<Type> types = {c.typeOf(op.operands[0])};
  DYN_TRY(BuiltinCall call, op.def->builtin.describe({op, types}));
  c.emit(Opcode::loadGlobal, c.define(op.results[0].id),
         c.program().packedGlobal(*c.constant(op.operands[0]), op.def->builtinOf(op), call.numbers,
                                  op.results[0].type.dtype(), c.ir().valueName(op.operands[0])));
  return {};
}

}  // namespace dyn
