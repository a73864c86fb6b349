#include "compiler/passes/device_refusal.h"

#include <algorithm>

namespace dyn {
namespace {

bool hasArithmetic(Type type) {
  if (!type) return true;
  if (!type.isTensor()) return false;
  const Dtype dtype = type.dtype();
  return isInteger(dtype) || dtype == Dtype::boolean || dtype == Dtype::f16 || dtype == Dtype::bf16 ||
         dtype == Dtype::f32 || dtype == Dtype::f64;
}

}  // namespace

std::string deviceRefusal(const Op& op, std::span<const Type> operandTypes) {
  const auto lacks = [](Type type) { return !hasArithmetic(type); };
  if (std::any_of(operandTypes.begin(), operandTypes.end(), lacks) ||
      std::any_of(op.results.begin(), op.results.end(), [&](const ValueDef& r) { return lacks(r.type); }))
    return "elements that the device has no arithmetic for";
  return {};
}

}  // namespace dyn
