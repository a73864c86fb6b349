// Handler: a tensor to be looked at, whether it is bound, of the last run, or any value of the model.
#include <charconv>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/run/run_result.h"
#include "app/session/answers/tensor_view.h"
#include "app/session/graph/trace_views.h"
#include "app/session/handlers/stop_text.h"
#include "app/session/session_state.h"
#include "app/session/views/value_views.h"
#include "app/session/views/view.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/reference_interpreter.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

struct Found {
  Value value;
  std::string from;
};

const Value* amongPorts(const std::vector<NamedValue>& values, const std::string& name) {
  for (const NamedValue& one : values)
    if (one.name == name) return &one.value;
  return nullptr;
}

Error noValue(const Module& module, const std::string& name) {
  std::vector<std::string> names;
  for (const FunctionVisit& visit : functionsOf(module)) {
    for (const Parameter& p : visit.function->parameters) names.push_back(module.context->valueName(p.id));
    for (const Op* op : visit.function->ops)
      for (const ValueDef& r : op->results) names.push_back(module.context->valueName(r.id));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = suggestion(name, views);
  return makeError(DiagnosticId::textName, "there is no value '" + name + "' at this step")
      .note(near.empty() ? ":ir lists all values" : "did you mean " + near + "?");
}

// The value as the reference computes it after that pass. Of a value inside of a loop the last one.
Result<Value> valueByReference(SessionState& state, const Module& module, const std::vector<Value>& inputs,
                               const std::string& name) {
  const ValueId wanted = module.context->findValue(name);
  const Definition definition = wanted == kNoValue ? Definition() : Uses(module).definition(wanted);
  if (!definition.type && !definition.op) return noValue(module, name);
  const Function& main = *module.main();
  for (size_t i = 0; i < std::min(inputs.size(), main.parameters.size()); ++i)
    if (main.parameters[i].id == wanted) return inputs[i];
  std::optional<Value> seen;
  std::atomic<bool> stop{false};
  bool ofMain = false;
  for (const Op* op : main.ops)
    for (const ValueDef& result : op->results) ofMain = ofMain || result.id == wanted;
  InterpreterOptions options;
  options.cancelled = &stop;
  options.observer = [&](const Function&, const Op& op, std::span<const Value> results) {
    for (size_t i = 0; i < results.size(); ++i)
      if (op.results[i].id == wanted) seen = results[i];
    stop = state.interruption.requested() || (ofMain && seen);  // what comes behind it is not needed
  };
  state.progress("computing " + name + " by the reference");
  const Result<std::vector<Value>> run = interpret(module, inputs, options);
  if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
  if (seen) return *seen;
  if (!run.ok()) return Error{run.error()};
  return makeError(DiagnosticId::usageError, "this run does not come to " + name)
      .note("it is in a branch, or in a body, not taken");
}

const HostTensor* constantNamed(const Module& module, const std::string& name) {
  const ValueId wanted = module.context->findValue(name);
  const Op* op = wanted == kNoValue ? nullptr : Uses(module).definition(wanted).op;
  return op && op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
}

// "$v3": what the register holds where the run stands.
Result<Found> ofRegister(const SessionState& state, const std::string& name) {
  int32_t index = -1;
  const auto [end, fault] =
      std::from_chars(name.data() + std::min<size_t>(2, name.size()), name.data() + name.size(), index);
  if (name.rfind("$v", 0) != 0 || fault != std::errc() || end != name.data() + name.size())
    return makeError(DiagnosticId::usageError, "'" + name + "' is not a register of tensors")
        .note("write $v3; :registers lists them");
  if (!state.debug || state.debug->model() != state.now.model.get() || !state.debug->isStopped())
    return makeError(DiagnosticId::usageError, "no run is stopped").note(":start begins one");
  DYN_TRY(Value value, state.debug->objectRegister(index));
  return Found{std::move(value),
               "in register " + name.substr(1) + ", at the stop in " + state.debug->lastStop().function};
}

Result<Found> findTensor(SessionState& state, const Command& command, const std::string& name) {
  if (name.rfind('$', 0) == 0) return ofRegister(state, name);
  const bool asRun = !command.has("pass") && !command.has("dim") && !command.has("input");
  if (asRun) {
    if (std::optional<BoundValue> stopped = stoppedValue(state, name))
      return Found{std::move(stopped->value), "at the stop in " + state.debug->lastStop().function};
    if (const BoundValue* bound = state.values.find(name)) return Found{bound->value, "bound"};
    if (const Shared<RunResult> run = state.runs.last(state.now.model)) {
      if (const Value* value = amongPorts(run->outputs, name))
        return Found{*value, "an output of the last run"};
      if (const Value* value = amongPorts(run->inputs, name))
        return Found{*value, "an input of the last run"};
    }
  }
  DYN_TRY(LoadedModel * model, state.modelWithPasses());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package has no values but its inputs and outputs");
  const Module* module = &model->typed();
  std::string step = "typed";
  if (command.has("pass")) {
    DYN_TRY(const TraceStep* found, findStep(model->trace(), command.text("pass")));
    module = &found->after;
    step = stepTitle(*found);
  }
  // A weight is there before any run.
  if (const HostTensor* constant = constantNamed(*module, name))
    return Found{Value(*constant), "a constant of the model, " + step};
  CallInputs inputs;
  const Shared<RunResult> run = state.runs.last(state.now.model);
  const bool isOfRun = !command.has("dim") && !command.has("input") && run && !run->inputs.empty();
  const std::string asked = step + " " + command.text("pass");
  if (isOfRun && state.lookedAt && state.lookedAt->run.lock() == run && state.lookedAt->name == name &&
      state.lookedAt->step == asked)
    return Found{state.lookedAt->value, "by the reference, " + step};
  if (isOfRun) {
    for (const NamedValue& input : run->inputs) inputs.values.push_back(input.value);
  } else {
    DYN_TRY(inputs, callInputs(state, *model, command));
  }
  DYN_TRY(Value value, valueByReference(state, *module, inputs.values, name));
  // Its other slices are asked for next.
  constexpr int64_t kMostKeptBytes = int64_t{64} << 20;
  state.lookedAt.reset();
  if (isOfRun && value.isTensor() && value.tensor().sizeBytes() <= kMostKeptBytes)
    state.lookedAt = SessionState::LookedAt{run, name, asked, value};
  return Found{std::move(value), "by the reference, " + step};
}

}  // namespace

Result<View> handle_tensor(SessionState& state, const Command& command, Outcome&) {
  std::string name = command.text("value");
  if (!name.empty() && name[0] == '%') name.erase(0, 1);
  DYN_TRY(Found found, findTensor(state, command, name));
  if (!found.value.isTensor())
    return makeError(DiagnosticId::typeMismatch,
                     name + " is not a tensor but a " + toString(found.value.kind()));
  DYN_TRY(TensorView view, tensorView(name, found.value.tensor(), command.text("slice")));
  view.from = found.from;
  if (command.has("o")) {
    view.file = command.text("o");
    DYN_CHECK(writeNpyTensor(view.file, found.value.tensor()));
  }
  return makeView(std::move(view));
}

}  // namespace dyn
