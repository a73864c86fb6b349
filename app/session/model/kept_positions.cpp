#include "app/session/model/kept_positions.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/reference/reference_interpreter.h"

namespace dyn {

namespace {

// The operation that finds the positions which are kept; null: there is none.
const Op* finderIn(const Module& module) {
  if (!module.main()) return nullptr;
  for (const Op* op : module.main()->ops)
    if (op->attributes.integer("of_positions", 0) != 0) return op;
  return nullptr;
}

// The part of @main that `value` is made by.
Function makersOf(const Function& main, ValueId value) {
  Function part = main;
  part.ops.clear();
  part.results = {value};
  part.resultTypes.clear();
  std::unordered_set<ValueId> wanted{value};
  for (size_t i = main.ops.size(); i-- > 0;) {
    const Op* op = main.ops[i];
    if (std::none_of(op->results.begin(), op->results.end(),
                     [&](const ValueDef& r) { return wanted.count(r.id) != 0; }))
      continue;
    wanted.insert(op->operands.begin(), op->operands.end());
    part.ops.push_back(op);
  }
  std::reverse(part.ops.begin(), part.ops.end());
  return part;
}

constexpr int64_t kMostBytes = 1 << 14;  // of an input whose elements are told

std::vector<std::optional<HostTensor>> elementsOf(const Signature& signature, const CallInputs& inputs,
                                                  const std::vector<std::string>& unknown) {
  std::vector<std::optional<HostTensor>> elements(inputs.values.size());
  for (size_t i = 0; i < elements.size() && i < signature.inputs.size(); ++i) {
    const Value& value = inputs.values[i];
    if (!value.isTensor()) continue;
    const Dtype dtype = value.tensor().dtype();
    const bool whole = isInteger(dtype) || dtype == Dtype::boolean;
    if (whole && value.tensor().sizeBytes() <= kMostBytes &&
        std::find(unknown.begin(), unknown.end(), signature.inputs[i].info.name) == unknown.end())
      elements[i] = value.tensor();
  }
  return elements;
}

}  // namespace

Result<std::optional<int64_t>> keptPositions(LoadedModel& model, const CallInputs& inputs) {
  const std::optional<int64_t> all;
  if (!model.hasModule()) return all;
  const TraceStep* step = model.trace().find("unpad");
  const Op* finder = step && step->after.context ? finderIn(step->after) : nullptr;
  if (!finder) return all;
  const Function part = makersOf(*step->after.main(), finder->operands[0]);
  DYN_TRY(std::vector<Value> mask, interpret(step->after, part, inputs.values));
  const HostTensor& kept = mask[0].tensor();
  int64_t count = 0;
  for (int64_t i = 0; i < kept.elementCount(); ++i) count += kept.intAt(i) != 0 ? 1 : 0;
  return std::optional<int64_t>(count);
}

std::optional<int64_t> assumeKept(LoadedModel& model, const CallInputs& inputs, Runner& runner,
                                  const std::vector<std::string>& unknown) {
  runner.assumeElements(elementsOf(model.signature(), inputs, unknown));
  const Result<std::optional<int64_t>> kept = keptPositions(model, inputs);
  const std::optional<int64_t> told = kept.ok() ? *kept : std::nullopt;
  runner.assumeKept(told);
  return told;
}

}  // namespace dyn
