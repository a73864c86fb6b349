#include "compiler/passes/device/device_refusal.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "compiler/ops/op_table.h"
#include "compiler/ops/statements/selection_kernel.h"
#include "compiler/ops/statements/statement_kernel.h"

namespace dyn {
namespace {

bool hasArithmetic(Type type) {
  if (!type) return true;
  if (!type.isTensor()) return false;
  const Dtype dtype = type.dtype();
  return isInteger(dtype) || dtype == Dtype::boolean || isHalf(dtype) || dtype == Dtype::f32 ||
         dtype == Dtype::f64;
}

std::string elementsRefusal(const Op& op, std::span<const Type> operandTypes) {
  const auto lacks = [](Type type) { return !hasArithmetic(type); };
  if (std::any_of(operandTypes.begin(), operandTypes.end(), lacks) ||
      std::any_of(op.results.begin(), op.results.end(), [&](const ValueDef& r) { return lacks(r.type); }))
    return "elements that the device has no arithmetic for";
  return {};
}

}  // namespace

bool isSmallInteger(Type type) {
  constexpr int64_t kMostElements = 64;
  if (!type.isTensor() || !(isInteger(type.dtype()) || type.dtype() == Dtype::boolean)) return false;
  int64_t count = 1;
  for (Dim d : type.dims()) {
    const std::optional<int64_t> size = d.constant();
    if (!size || *size > kMostElements) return false;
    count *= *size;
  }
  return count <= kMostElements;
}

std::string generatedRefusal(const Op& op, std::span<const Type> operandTypes) {
  const auto small = [](const ValueDef& result) { return isSmallInteger(result.type); };
  if (std::all_of(op.results.begin(), op.results.end(), small)) return kSmallIntegers;
  if (op.def != &ops::fusedOp) return elementsRefusal(op, operandTypes);
  std::unordered_map<ValueId, Type> inside;
  for (const Parameter& p : op.regions[0]->parameters) inside[p.id] = p.type;
  for (const Op* inner : op.regions[0]->ops) {
    std::vector<Type> operands;
    for (ValueId v : inner->operands) operands.push_back(v == kNoValue ? Type() : inside.at(v));
    if (std::string why = elementsRefusal(*inner, operands); !why.empty()) return why;
    for (const ValueDef& r : inner->results) inside[r.id] = r.type;
  }
  return {};
}

std::string builtinRefusal(const Op& op, std::span<const Type> operandTypes,
                           const std::function<bool(int)>& contentsKnown) {
  if (!hasStatementKernel(*op.def)) return "a hand-written kernel of the host";
  if (isSmallInteger(op.results[0].type)) return kSmallIntegers;
  std::string why = elementsRefusal(op, operandTypes);
  return why.empty() ? statementRefusal(op, operandTypes, contentsKnown) : why;
}

std::string countedRefusal(const Op& op, std::span<const Type> operandTypes) {
  const std::span<const Type> elements = operandTypes.first(selectedOperands(*op.def));
  if (std::any_of(elements.begin(), elements.end(), isSmallInteger)) return kSmallIntegers;
  std::string why = elementsRefusal(op, operandTypes);
  return why.empty() ? selectionRefusal(operandTypes) : why;
}

}  // namespace dyn
