#include "compiler/reference/structural_values.h"

#include "compiler/ops/op_table.h"
#include "compiler/reference/sequence_values.h"

namespace dyn {

namespace {

// Position operand (or fallback) counted from the end when negative, in [0, limit].
Result<size_t> positionOf(const EvalContext& c, const std::vector<Value>& operands, size_t operand,
                          int64_t length, int64_t fallback, int64_t limit) {
  int64_t position = fallback;
  if (operand < operands.size() && operands[operand].isTensor()) {
    if (operands[operand].tensor().elementCount() != 1) {
      return c.error(DiagnosticId::shapeCheckFailed, "the position must have one element");
    }
    position = operands[operand].tensor().intAt(0);
    if (position < 0) position += length;
  }
  if (position < 0 || position > limit) {
    return c.error(DiagnosticId::runtimeError, "position " + std::to_string(position) +
                                                   " is outside a list of " + std::to_string(length));
  }
  return static_cast<size_t>(position);
}

Result<Value> evaluateList(const EvalContext& c, std::vector<Value> operands) {
  const OpDef* def = c.op().def;
  if (operands.empty() || operands[0].kind() != ValueKind::list) {
    return c.error(DiagnosticId::typeMismatch, "it needs a list");
  }
  const std::span<const Value> parts = operands[0].parts();
  const int64_t length = static_cast<int64_t>(parts.size());
  if (def == &ops::list_lengthOp) return Value(HostTensor::scalarInt(Dtype::i64, length));
  if (def == &ops::list_atOp) {
    DYN_TRY(size_t position, positionOf(c, operands, 1, length, -1, length - 1));
    return parts[position];
  }
  std::vector<Value> elements(parts.begin(), parts.end());
  if (def == &ops::list_eraseOp) {
    DYN_TRY(size_t position, positionOf(c, operands, 1, length, length - 1, length - 1));
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(position));
    return Value::list(std::move(elements));
  }
  DYN_TRY(size_t position, positionOf(c, operands, 2, length, length, length));
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(position), operands[1]);
  return Value::list(std::move(elements));
}

}  // namespace

Result<Value> evaluateStructural(const EvalContext& c, std::vector<Value> operands) {
  const OpDef* def = c.op().def;
  if (isSequenceOp(def)) return evaluateSequence(c, operands);
  if (def == &ops::tupleOp) return Value::tuple(std::move(operands));
  if (def == &ops::listOp) return Value::list(std::move(operands));
  if (def == &ops::list_ofOp) return Value::list({});
  if (def == &ops::optional_someOp) return Value::some(std::move(operands[0]));
  if (def == &ops::optional_noneOp) return Value::nothing();
  if (def == &ops::constructOp) return Value::data(c.attributes().string("constructor"), std::move(operands));
  if (def == &ops::tuple_getOp) {
    const size_t index = static_cast<size_t>(c.attributes().integer("index"));
    if (operands[0].kind() != ValueKind::tuple || index >= operands[0].parts().size()) {
      return c.error(DiagnosticId::typeMismatch, "the value has no field " + std::to_string(index));
    }
    return operands[0].parts()[index];
  }
  if (def == &ops::optional_getOp) {
    if (operands[0].kind() != ValueKind::optional) return operands[0];
    if (operands[0].parts().empty())
      return c.error(DiagnosticId::runtimeError, "the optional holds no value");
    return operands[0].parts()[0];
  }
  if (def == &ops::optional_hasOp) {
    const bool empty = operands.empty() || operands[0].kind() == ValueKind::none ||
                       (operands[0].kind() == ValueKind::optional && operands[0].parts().empty());
    return Value(HostTensor::scalarInt(Dtype::boolean, empty ? 0 : 1));
  }
  if (def == &ops::list_atOp || def == &ops::list_appendOp || def == &ops::list_insertOp ||
      def == &ops::list_lengthOp || def == &ops::list_eraseOp) {
    return evaluateList(c, std::move(operands));
  }
  return c.error(DiagnosticId::unsupportedOp, "the operator has no reference evaluation");
}

}  // namespace dyn
