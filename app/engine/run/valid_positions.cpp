#include "app/engine/run/valid_positions.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "compiler/reference/reference_interpreter.h"

namespace dyn {

namespace {

// The operations that find the positions which are kept, one for each batch with a mask.
std::vector<const Op*> findersIn(const Module& module) {
  std::vector<const Op*> finders;
  if (!module.main()) return finders;
  for (const Op* op : module.main()->ops)
    if (op->attributes.integer("of_positions", 0) != 0) finders.push_back(op);
  return finders;
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

namespace {

// The module after pass `pack_sequences`; null: the pass has not run.
const Module* packedModule(const LoadedModel& model) {
  const TraceStep* step = model.hasModule() ? model.trace().find("pack_sequences") : nullptr;
  return step && step->after.context ? &step->after : nullptr;
}

}  // namespace

bool packsSequences(const LoadedModel& model) {
  const Module* packed = packedModule(model);
  return packed && !findersIn(*packed).empty();
}

Result<std::vector<int64_t>> keptPositions(LoadedModel& model, const CallInputs& inputs) {
  std::vector<int64_t> all;
  const Module* packed = packedModule(model);
  if (!packed) return all;
  for (const Op* finder : findersIn(*packed)) {
    const Function part = makersOf(*packed->main(), finder->operands[0]);
    DYN_TRY(std::vector<Value> mask, interpret(*packed, part, inputs.values));
    const HostTensor& kept = mask[0].tensor();
    int64_t count = 0;
    for (int64_t i = 0; i < kept.elementCount(); ++i) count += kept.intAt(i) != 0 ? 1 : 0;
    all.push_back(count);
  }
  return all;
}

std::optional<int64_t> setValidPositions(LoadedModel& model, const CallInputs& inputs, Runner& runner,
                                         const std::vector<std::string>& unknown) {
  runner.assumeElements(elementsOf(model.signature(), inputs, unknown));
  const Result<std::vector<int64_t>> kept = keptPositions(model, inputs);
  std::optional<int64_t> sum;
  if (kept.ok() && !kept->empty()) sum = std::accumulate(kept->begin(), kept->end(), int64_t{0});
  // A dry run takes one number: of several batches it counts all positions, which is no less.
  runner.setValidPositions(kept.ok() && kept->size() == 1 ? sum : std::nullopt);
  return sum;
}

}  // namespace dyn
