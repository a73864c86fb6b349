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

}  // namespace

void describeValue(const Module& module, const InnerTensor& tensor, ValueError& error) {
  const SourceLocation& place = tensor.op->place;
  error.name = module.context->valueName(tensor.value());
  error.op = std::string(tensor.op->def->name);
  error.place = place.node.empty() ? place.toString() : std::string(place.node);
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
  std::set<ValueId> there;
  for (const InnerTensor& tensor : innerTensors(actual)) there.insert(tensor.value());
  ValueComparison comparison;
  std::vector<InnerTensor> compared;
  std::vector<ValueId> first, second;
  for (const InnerTensor& tensor : innerTensors(expected)) {
    const auto partner = match.values.find(tensor.value());
    if (partner == match.values.end() || there.count(partner->second) == 0) {
      ++comparison.unmatchedCount;
      continue;
    }
    compared.push_back(tensor);
    first.push_back(tensor.value());
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
    describeValue(expected, compared[i], error);
    measureError(made.at(i), wanted.at(i), request.relativeTolerance, error);
    comparison.values.push_back(std::move(error));
  }
  comparison.relativeTolerance = request.relativeTolerance;
  summarise(comparison);
  return comparison;
}

}  // namespace dyn
