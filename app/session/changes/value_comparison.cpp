#include "app/session/changes/value_comparison.h"

#include <algorithm>
#include <set>

#include "app/session/changes/model_match.h"
#include "app/session/changes/value_differences.h"
#include "compiler/ir/op_def.h"

namespace dyn {

namespace {

// The inputs of one model for the other: by name, or by their places where a name is not there.
Result<CallInputs> inputsFor(const LoadedModel& other, const LoadedModel& given, const CallInputs& inputs) {
  const std::vector<std::string> names = inputNamesOf(given), wanted = inputNamesOf(other);
  if (names.size() != wanted.size())
    return makeError(DiagnosticId::inputMismatch, "the models take " + std::to_string(names.size()) +
                                                      " and " + std::to_string(wanted.size()) + " inputs");
  const bool named = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
  CallInputs call;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = named ? std::find(names.begin(), names.end(), wanted[i]) : names.begin() + i;
    call.values.push_back(inputs.values.at(static_cast<size_t>(found - names.begin())));
  }
  return call;
}

struct ComparedValue {
  ValueId expected = kNoValue, actual = kNoValue;
  const Op* op = nullptr;
  size_t result = 0;
};

}  // namespace

void describeValue(const Module& module, const Op& op, size_t result, ValueError& error) {
  error.name = module.context->valueName(op.results[result].id);
  error.op = std::string(op.def->name);
  error.place = op.place.node.empty() ? op.place.toString() : std::string(op.place.node);
}

void summarise(ValueComparison& comparison) {
  for (size_t i = 0; i < comparison.values.size(); ++i) {
    if (!comparison.values[i].isWrong) continue;
    ++comparison.wrongCount;
    if (!comparison.firstWrong) comparison.firstWrong = i;
  }
}

Result<ValueComparison> compareModels(SessionState& state, const ComparisonRequest& request) {
  const Module& expected = request.expected.typed();
  const Module& actual = request.actual.typed();
  const ModelMatch match = matchModels(request.expected, request.actual);
  const std::vector<ValueId> there = innerTensors(actual), here = innerTensors(expected);
  const std::set<ValueId> known(there.begin(), there.end()), watched(here.begin(), here.end());
  ValueComparison comparison;
  std::vector<ComparedValue> compared;
  std::vector<ValueId> first, second;
  for (const Op* op : expected.main()->ops)
    for (size_t i = 0; i < op->results.size(); ++i) {
      const ValueId value = op->results[i].id;
      if (watched.count(value) == 0) continue;
      const auto partner = match.values.find(value);
      if (partner == match.values.end() || known.count(partner->second) == 0) {
        ++comparison.unmatchedCount;
        continue;
      }
      compared.push_back({value, partner->second, op, i});
      first.push_back(value);
      second.push_back(partner->second);
    }
  if (compared.empty())
    return makeError(DiagnosticId::inputMismatch, "no value of one model was found in the other");
  DYN_TRY(const CallInputs inputs, inputsFor(request.actual, request.expected, request.inputs));
  state.progress("running " + request.expected.info().path);
  DYN_TRY(const std::vector<Value> wanted,
          watchedValues(state, {request.expected, first, request.inputs, request.expectedPasses}));
  state.progress("running " + request.actual.info().path);
  DYN_TRY(const std::vector<Value> made,
          watchedValues(state, {request.actual, second, inputs, request.actualPasses}));
  for (size_t i = 0; i < compared.size(); ++i) {
    ValueError error;
    describeValue(expected, *compared[i].op, compared[i].result, error);
    measureError(made.at(i), wanted.at(i), request.relativeTolerance, error);
    comparison.values.push_back(std::move(error));
  }
  comparison.relativeTolerance = request.relativeTolerance;
  summarise(comparison);
  return comparison;
}

}  // namespace dyn
