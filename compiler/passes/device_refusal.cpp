#include "compiler/passes/device_refusal.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn {
namespace {

bool hasArithmetic(Type type) {
  if (!type) return true;
  if (!type.isTensor()) return false;
  const Dtype dtype = type.dtype();
  return isInteger(dtype) || dtype == Dtype::boolean || dtype == Dtype::f16 || dtype == Dtype::bf16 ||
         dtype == Dtype::f32 || dtype == Dtype::f64;
}

// Operations whose code asks the C library for some arguments (compiler/codegen/math: rare lanes).
bool asksTheLibrary(const Op& op, Type operand) {
  if (op.def == &ops::sinOp || op.def == &ops::cosOp || op.def == &ops::tanOp) return true;
  return op.def == &ops::modOp && operand && operand.isTensor() && isReal(operand.dtype());
}

}  // namespace

std::string deviceRefusal(const Op& op, std::span<const Type> operandTypes) {
  const auto lacks = [](Type type) { return !hasArithmetic(type); };
  if (std::any_of(operandTypes.begin(), operandTypes.end(), lacks) ||
      std::any_of(op.results.begin(), op.results.end(), [&](const ValueDef& r) { return lacks(r.type); }))
    return "elements that the device has no arithmetic for";
  if (asksTheLibrary(op, operandTypes.empty() ? Type() : operandTypes[0]))
    return "large arguments are the C library's";
  return {};
}

}  // namespace dyn
