#include "app/session/causes/refused_inputs.h"

#include <algorithm>
#include <map>
#include <optional>

#include "app/session/causes/run_trial.h"

namespace dyn {

namespace {

// Each input by itself, as it was given; nothing: it follows from the sizes of the others.
Result<std::map<std::string, Value>> valuesGiven(SessionState& state, LoadedModel& model,
                                                 const Command& command) {
  std::map<std::string, Value> values;
  for (const std::string& text : command.all("input")) {
    const std::string name = text.substr(0, text.find('='));
    Signature alone;
    for (const Port& port : model.signature().inputs)
      if (port.info.name == name) alone.inputs.push_back(port);
    if (alone.inputs.empty()) continue;
    InputSources sources;
    sources.bound = [&](const std::string& bound) -> const Value* {
      const BoundValue* found = state.values.find(bound);
      return found ? &found->value : nullptr;
    };
    const Result<CallInputs> made = makeInputs(alone, {}, {text}, state.now.options.seed, sources);
    if (made.ok() && made->values.size() == 1 && made->values[0].isTensor()) values[name] = made->values[0];
  }
  return values;
}

// An axis of an input.
struct InputAxis {
  std::string input;
  int64_t axis = 0, size = 0;
};

// An axis that has not the size that its dim got before: from others, from --dim, or as a constant.
struct SizeClash {
  InputAxis at;
  int64_t demanded = 0;
  std::vector<InputAxis> others;
};

// The first one, in the order in which the inputs were given.
std::optional<SizeClash> clashOf(const Signature& signature, const std::vector<std::string>& order,
                                 const std::map<std::string, Value>& given, const DimValues& said) {
  std::map<SymbolId, std::vector<InputAxis>> sizes;
  for (const std::string& name : order)
    for (const Port& port : signature.inputs) {
      const auto value = given.find(name);
      if (port.info.name != name || value == given.end() || !port.type || !port.type.isTensor()) continue;
      const std::vector<int64_t>& shape = value->second.tensor().shape();
      for (size_t axis = 0; axis < std::min(shape.size(), port.type.dims().size()); ++axis) {
        const Dim dim = port.type.dims()[axis];
        const InputAxis here{name, static_cast<int64_t>(axis), shape[axis]};
        std::optional<int64_t> demanded = dim.constant();
        if (!demanded && dim.isSymbol())
          if (const auto by = said.find(dim.context().symbolName(dim.symbol())); by != said.end())
            demanded = by->second;
        if (demanded) {
          if (*demanded != here.size) return SizeClash{here, *demanded, {}};
        } else if (dim.isSymbol()) {
          std::vector<InputAxis>& known = sizes[dim.symbol()];
          if (!known.empty() && known.front().size != here.size)
            return SizeClash{here, known.front().size, known};
          known.push_back(here);
        }
      }
    }
  return std::nullopt;
}

RunCauses::Culprit axisCulprit(const InputAxis& from) {
  RunCauses::Culprit culprit;
  culprit.name = from.input;
  culprit.axis = from.axis;
  culprit.size = from.size;
  culprit.text =
      "axis " + std::to_string(from.axis) + " of " + from.input + " is " + std::to_string(from.size);
  return culprit;
}

// These axes get that size. Nothing: the run fails then, too.
std::optional<RunCauses::Change> resizedAxes(const RunTrial& trial, std::map<std::string, Value> values,
                                             const std::vector<DimSpec>& dims,
                                             const std::vector<InputAxis>& axes, int64_t size) {
  RunCauses::Change change;
  for (const InputAxis& from : axes) {
    std::vector<int64_t> shape = values[from.input].tensor().shape();
    shape[static_cast<size_t>(from.axis)] = size;
    Result<HostTensor> made = resized(values[from.input].tensor(), shape);
    if (!made.ok()) return std::nullopt;
    values[from.input] = Value(*std::move(made));
    change.distance += std::abs(from.size - size);
    change.axes.push_back({from.input, from.axis, from.size, size});
    change.text += (change.text.empty() ? "axis " : ", axis ") + std::to_string(from.axis) + " of " +
                   from.input + " = " + std::to_string(size) + " instead of " + std::to_string(from.size);
  }
  const Result<CallInputs> inputs = trial.with(values, dims);
  if (!inputs.ok() || !trial.run(*inputs).ok()) return std::nullopt;
  change.verified = "by a run";
  return change;
}

}  // namespace

Status explainRefusedInputs(SessionState& state, LoadedModel& model, const Command& command,
                            RunCauses& causes) {
  DYN_TRY(const auto given, valuesGiven(state, model, command));
  DYN_TRY(const std::vector<DimSpec> dims, parseDimSpecs(command.all("dim")));
  DimValues said;
  for (const DimSpec& spec : dims)
    if (spec.value) said[spec.name] = *spec.value;
  std::vector<std::string> order;
  for (const std::string& text : command.all("input")) order.push_back(text.substr(0, text.find('=')));
  const std::optional<SizeClash> clash = clashOf(model.signature(), order, given, said);
  if (!clash) {
    causes.notes.push_back("which inputs do not fit together is said by the message alone");
    return {};
  }
  causes.culprits.push_back(axisCulprit(clash->at));
  for (const InputAxis& other : clash->others) causes.culprits.push_back(axisCulprit(other));
  // The axis that does not fit gets the size of the others; or they get its size.
  const AskedRun none;
  const RunTrial trial(state, model.signature(), none);
  const auto attempt = [&](const std::vector<InputAxis>& axes, int64_t size) {
    if (std::optional<RunCauses::Change> change = resizedAxes(trial, given, dims, axes, size))
      causes.changes.push_back(*std::move(change));
  };
  attempt({clash->at}, clash->demanded);
  if (!clash->others.empty()) attempt(clash->others, clash->at.size);
  std::stable_sort(causes.changes.begin(), causes.changes.end(),
                   [](const auto& a, const auto& b) { return a.distance < b.distance; });
  if (causes.changes.empty()) causes.notes.push_back("no change was found with which it runs");
  return {};
}

}  // namespace dyn
