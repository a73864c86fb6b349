#include "compiler/reference/sequence_values.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

namespace {

// Copies slices [from, from + count) along the axis of x to slices [to, ...) of the result.
void copySlices(HostTensor& result, int64_t to, const HostTensor& x, int64_t from, int64_t count, int axis) {
  const int64_t inner = sizeProduct(x.shape(), axis + 1, x.rank()), outer = sizeProduct(x.shape(), 0, axis);
  const int64_t length = x.shape()[static_cast<size_t>(axis)],
                toLength = result.shape()[static_cast<size_t>(axis)];
  const ElementCopier copier(result, x);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count * inner; ++i)
      copier.copy((o * toLength + to) * inner + i, (o * length + from) * inner + i);
  }
}

Result<Value> evaluateSplit(const EvalContext& c, const std::vector<Value>& operands) {
  const HostTensor& x = operands[0].tensor();
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  const int64_t length = x.shape()[static_cast<size_t>(axis)];
  const bool given = operands.size() > 1 && operands[1].isTensor();
  std::vector<int64_t> sizes;
  if (given && operands[1].tensor().rank() == 1) {
    sizes = elementsOf(operands[1].tensor());
  } else {
    const int64_t step = given ? operands[1].tensor().intAt(0) : 1;
    if (step < 1) return c.error(DiagnosticId::shapeCheckFailed, "pieces of size " + std::to_string(step));
    for (int64_t at = 0; at < length; at += std::min(step, length - at))
      sizes.push_back(std::min(step, length - at));
  }
  std::vector<Value> pieces;
  int64_t at = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > length - at)
      return c.error(DiagnosticId::shapeCheckFailed,
                     "the pieces are larger than the axis of " + std::to_string(length));
    std::vector<int64_t> shape = x.shape();
    shape[static_cast<size_t>(axis)] = size;
    DYN_TRY(HostTensor piece, newTensor(x.dtype(), shape));
    copySlices(piece, 0, x, at, size, axis);
    at += size;
    if (!given && c.attributes().integer("keepdims", 1) == 0) {
      shape.erase(shape.begin() + axis);
      piece = piece.reshaped(shape);
    }
    pieces.emplace_back(std::move(piece));
  }
  if (at != length)
    return c.error(DiagnosticId::shapeCheckFailed,
                   "the pieces are smaller than the axis of " + std::to_string(length));
  return Value::list(std::move(pieces));
}

Result<Value> evaluateJoin(const EvalContext& c, const std::vector<Value>& operands, bool isNewAxis) {
  if (operands[0].kind() != ValueKind::list) return c.error(DiagnosticId::typeMismatch, "it needs a list");
  std::vector<HostTensor> parts;
  for (const Value& part : operands[0].parts()) {
    if (!part.isTensor()) return c.error(DiagnosticId::typeMismatch, "it needs a list of tensors");
    parts.push_back(part.tensor());
  }
  if (parts.empty()) return c.error(DiagnosticId::runtimeError, "an empty list cannot be joined");
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), parts[0].rank() + (isNewAxis ? 1 : 0)));
  int64_t total = 0;
  for (HostTensor& part : parts) {
    std::vector<int64_t> shape = part.shape();
    if (isNewAxis) shape.insert(shape.begin() + axis, 1);
    part = part.reshaped(shape);
    if (part.rank() != parts[0].rank() || part.dtype() != parts[0].dtype())
      return c.error(DiagnosticId::shapeCheckFailed,
                     "the tensors of the list differ in rank or element type");
    for (int k = 0; k < part.rank(); ++k) {
      if (k != axis && shape[static_cast<size_t>(k)] != parts[0].shape()[static_cast<size_t>(k)])
        return c.error(DiagnosticId::shapeCheckFailed,
                       shapeText(shape) + " cannot be joined with " + shapeText(parts[0].shape()));
    }
    total += shape[static_cast<size_t>(axis)];
  }
  std::vector<int64_t> shape = parts[0].shape();
  shape[static_cast<size_t>(axis)] = total;
  DYN_TRY(HostTensor result, newTensor(parts[0].dtype(), shape));
  int64_t at = 0;
  for (const HostTensor& part : parts) {
    const int64_t count = part.shape()[static_cast<size_t>(axis)];
    copySlices(result, at, part, 0, count, axis);
    at += count;
  }
  return Value(std::move(result));
}

}  // namespace

bool isSequenceOp(const OpDef* def) {
  return def == &ops::split_to_sequenceOp || def == &ops::concat_from_sequenceOp ||
         def == &ops::stack_from_sequenceOp;
}

Result<Value> evaluateSequence(const EvalContext& c, const std::vector<Value>& operands) {
  if (c.op().def == &ops::split_to_sequenceOp) return evaluateSplit(c, operands);
  return evaluateJoin(c, operands, c.op().def == &ops::stack_from_sequenceOp);
}

}  // namespace dyn
