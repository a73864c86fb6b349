#include "app/session/causes/refused_inputs.h"

#include <algorithm>
#include <map>

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
    std::map<std::string, BoundValue> used;
    sources.bound = [&](const std::string& bound) -> const Value* {
      const BoundValue* found = state.values.find(bound);
      return found ? &found->value : nullptr;
    };
    const Result<CallInputs> made = makeInputs(alone, {}, {text}, state.now.options.seed, sources);
    if (made.ok() && made->values.size() == 1 && made->values[0].isTensor()) values[name] = made->values[0];
  }
  return values;
}

}  // namespace

Status explainRefusedInputs(SessionState& state, LoadedModel& model, const Command& command,
                            RunCauses& causes) {
  const Signature& signature = model.signature();
  DYN_TRY(const auto given, valuesGiven(state, model, command));
  // Which axis gave each dim its size first, in the order in which the inputs were given.
  struct From {
    std::string input;
    int64_t axis = 0, size = 0;
  };
  std::map<SymbolId, std::vector<From>> sizes;
  struct Clash {
    From at;
    int64_t demanded = 0;
    std::vector<From> others;
  };
  std::optional<Clash> clash;
  std::vector<std::string> order;
  for (const std::string& text : command.all("input")) order.push_back(text.substr(0, text.find('=')));
  for (const std::string& name : order) {
    const auto value = given.find(name);
    if (value == given.end()) continue;
    for (const Port& port : signature.inputs) {
      if (port.info.name != name || !port.type || !port.type.isTensor()) continue;
      const std::vector<int64_t>& shape = value->second.tensor().shape();
      for (size_t axis = 0; axis < shape.size() && axis < port.type.dims().size() && !clash; ++axis) {
        const Dim dim = port.type.dims()[axis];
        const From here{name, static_cast<int64_t>(axis), shape[axis]};
        if (const std::optional<int64_t> constant = dim.constant()) {
          if (*constant != here.size) clash = {here, *constant, {}};
        } else if (dim.isSymbol()) {
          std::vector<From>& known = sizes[dim.symbol()];
          if (!known.empty() && known.front().size != here.size)
            clash = {here, known.front().size, known};
          else
            known.push_back(here);
        }
      }
    }
  }
  if (!clash) {
    causes.notes.push_back("which inputs do not fit together is said by the message alone");
    return {};
  }
  const auto addCulprit = [&](const From& from) {
    RunCauses::Culprit culprit;
    culprit.name = from.input;
    culprit.axis = from.axis;
    culprit.size = from.size;
    culprit.text =
        "axis " + std::to_string(from.axis) + " of " + from.input + " is " + std::to_string(from.size);
    causes.culprits.push_back(std::move(culprit));
  };
  addCulprit(clash->at);
  for (const From& other : clash->others) addCulprit(other);
  // The axis that does not fit gets the size of the others; or they get its size.
  const AskedRun none;
  const RunTrial trial(state, signature, none);
  const auto attempt = [&](const std::vector<From>& changed, int64_t size) {
    std::map<std::string, Value> values = given;
    RunCauses::Change change;
    for (const From& from : changed) {
      std::vector<int64_t> shape = values[from.input].tensor().shape();
      shape[static_cast<size_t>(from.axis)] = size;
      Result<HostTensor> made = resized(values[from.input].tensor(), shape);
      if (!made.ok()) return;
      values[from.input] = Value(*std::move(made));
      change.distance += std::abs(from.size - size);
      change.axes.push_back({from.input, from.axis, from.size, size});
      change.text += (change.text.empty() ? "axis " : ", axis ") + std::to_string(from.axis) + " of " +
                     from.input + " = " + std::to_string(size) + " instead of " + std::to_string(from.size);
    }
    const Result<CallInputs> inputs = trial.with(values);
    if (!inputs.ok() || !trial.run(*inputs).ok()) return;
    change.verified = "by a run";
    causes.changes.push_back(std::move(change));
  };
  attempt({clash->at}, clash->demanded);
  if (!clash->others.empty()) attempt(clash->others, clash->at.size);
  std::stable_sort(causes.changes.begin(), causes.changes.end(),
                   [](const auto& a, const auto& b) { return a.distance < b.distance; });
  if (causes.changes.empty()) causes.notes.push_back("no change was found with which it runs");
  return {};
}

}  // namespace dyn
