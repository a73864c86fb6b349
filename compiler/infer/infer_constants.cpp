// Values that inference evaluates itself: a small operation on constants, whose elements a later rule may need (paddings and sizes that
// exporters compute from constants by slicing, reversing and reshaping).
#include "compiler/infer/infer_driver.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/reference/reference_interpreter.h"

namespace dyn {

namespace {

std::optional<std::vector<int64_t>> fixedShape(Type type) {
  if (!type.isTensor()) return std::nullopt;
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (Dim d : type.dims()) {
    std::optional<int64_t> size = d.constant();
    if (!size || *size < 0 || *size > kMaxContents) return std::nullopt;
    shape.push_back(*size);
    count *= *size;
    if (count > kMaxContents) return std::nullopt;
  }
  return shape;
}

}  // namespace

// The elements of a small value, when all are known.
std::optional<HostTensor> InferDriver::knownTensor(ValueId id) const {
  if (auto constant = constants_.find(id); constant != constants_.end()) {
    if (constant->second->elementCount() <= kMaxContents) return *constant->second;
    return std::nullopt;
  }
  auto found = contents_.find(id);
  std::optional<std::vector<int64_t>> shape = fixedShape(types_[id]);
  if (found == contents_.end() || !shape) return std::nullopt;
  Result<HostTensor> tensor = HostTensor::create(types_[id].dtype(), *shape);
  if (!tensor.ok() || tensor->elementCount() != static_cast<int64_t>(found->second.size()))
    return std::nullopt;
  for (size_t i = 0; i < found->second.size(); ++i) {
    const Dim element = found->second[i] ? solver_.canonical(found->second[i]) : Dim();
    if (!element || !element.constant()) return std::nullopt;
    tensor->setInt(static_cast<int64_t>(i), *element.constant());
  }
  return *std::move(tensor);
}

void InferDriver::evaluateConstants(const Op& op) {
  if (!op.def->evaluate || op.def->hasEffects || op.operands.empty() || !op.regions.empty() ||
      packsWeights(*op.def))
    return;
  bool wanted = false;
  for (const ValueDef& result : op.results) {
    if (result.id == kNoValue || !fixedShape(result.type)) return;
    wanted = wanted || !knownTensor(result.id);
  }
  if (!wanted) return;
  std::vector<Value> operands;
  for (ValueId id : op.operands) {
    if (id == kNoValue) {
      operands.emplace_back();
      continue;
    }
    std::optional<HostTensor> known = types_[id].isTensor() ? knownTensor(id) : std::nullopt;
    if (!known) return;
    operands.emplace_back(*std::move(known));
  }
  // A fault belongs to the run: the operation may never be reached.
  Result<std::vector<Value>> values = interpretOp(module_, op, operands, {});
  if (!values.ok()) return;
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (!(*values)[i].isTensor()) return;
    const HostTensor& value = evaluated_.emplace_back((*values)[i].tensor());
    constants_[op.results[i].id] = &value;
    const bool isDim =
        (isInteger(value.dtype()) || value.dtype() == Dtype::boolean) && value.dtype() != Dtype::u64;
    if (!isDim || value.elementCount() == 0) continue;
    Contents& contents = contents_[op.results[i].id];
    contents.clear();
    for (int64_t k = 0; k < value.elementCount(); ++k)
      contents.push_back(ir_.dims().constant(value.intAt(k)));
  }
}

}  // namespace dyn
