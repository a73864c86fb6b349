#include "app/engine/run/specialisation.h"

#include <algorithm>
#include <set>

#include "app/engine/model/loaded_model.h"
#include "compiler/driver/packed_weights.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

constexpr size_t kKeptCount = 16;
// Larger inputs do not decide ranks: they are data.
constexpr int64_t kMaxDecidingElements = 1024;

// How what is needed follows from the parameters of @main, backwards through the operations that make it.
class NeedTrace {
 public:
  explicit NeedTrace(const Module& module) : module_(module), uses_(module) {
    for (const FunctionVisit& visit : functionsOf(module))
      if (visit.owner != nullptr) owners_[visit.function] = visit.owner;
  }

  // By parameter of @main.
  std::map<size_t, Need::Kind> run(std::span<const Need> needs) {
    for (const Need& need : needs) push(need.kind, need.value);
    while (!pending_.empty()) {
      const Need need = pending_.back();
      pending_.pop_back();
      visit(need);
    }
    return found_;
  }

 private:
  void push(Need::Kind kind, ValueId value) {
    if (value != kNoValue && seen_.insert({kind, value}).second) pending_.push_back({kind, value});
  }

  void visit(const Need& need) {
    const Definition& from = uses_.definition(need.value);
    if (from.op == nullptr) return visitParameter(need, from);
    if (from.op->def == &ops::constantOp) return;
    const OpTraits& traits = from.op->def->traits;
    for (int i = 0; i < static_cast<int>(from.op->operands.size()); ++i) {
      const bool contents = need.kind == Need::Kind::contents ? !traits.readsShape
                                                              : traits.firstSizes && i >= *traits.firstSizes;
      push(contents ? Need::Kind::contents : Need::Kind::shape, from.op->operands[static_cast<size_t>(i)]);
    }
    for (const Function* body : from.op->regions)
      for (ValueId result : body->results) push(need.kind, result);
  }

  void visitParameter(const Need& need, const Definition& from) {
    if (from.function == module_.main()) {
      Need::Kind& kind = found_.emplace(from.index, need.kind).first->second;
      if (need.kind == Need::Kind::contents) kind = need.kind;
      return;
    }
    const auto owner = owners_.find(from.function);
    if (owner == owners_.end()) return;
    for (ValueId operand : owner->second->operands) push(need.kind, operand);
  }

  const Module& module_;
  Uses uses_;
  std::map<const Function*, const Op*> owners_;
  std::vector<Need> pending_;
  std::set<std::pair<Need::Kind, ValueId>> seen_;
  std::map<size_t, Need::Kind> found_;
};

// What can be given of the model's inputs to fill the needs.
std::map<size_t, FixedInput::Kind> inputsNeeded(const LoadedModel& model, const Diagnostic& fault) {
  std::map<size_t, FixedInput::Kind> needed;
  for (size_t open : model.openInputs()) needed[open] = FixedInput::Kind::rank;
  if (!needed.empty() || fault.id != DiagnosticId::unsupportedFeature || model.imported().main() == nullptr)
    return needed;
  // The passes say that it fails; asked again, inference says what it lacks.
  std::vector<Need> needs;
  if (inferTypes(model.imported(), {.needs = &needs}).ok()) return needed;
  for (auto [index, kind] : NeedTrace(model.imported()).run(needs)) {
    const Type type = model.imported().main()->parameters[index].type;
    if (!type.isTensor()) continue;
    if (kind == Need::Kind::contents) needed[index] = FixedInput::Kind::contents;
    if (kind == Need::Kind::shape && !symbolsOf(type).empty()) needed[index] = FixedInput::Kind::shape;
  }
  return needed;
}

bool isIn(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The inputs that are left: what is fixed by its contents is no input any more.
CallInputs without(CallInputs inputs, const Signature& signature, const std::vector<FixedInput>& fixed) {
  CallInputs rest;
  rest.random = std::move(inputs.random);
  rest.dims = std::move(inputs.dims);
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    const bool gone = std::any_of(fixed.begin(), fixed.end(), [&](const FixedInput& one) {
      return one.kind == FixedInput::Kind::contents && one.name == signature.inputs[i].info.name;
    });
    if (!gone) rest.values.push_back(std::move(inputs.values[i]));
  }
  return rest;
}

// A value given in place of a default.
FixedInput dimOverrideOf(const std::pair<std::string, HostTensor>& given) {
  return FixedInput::of(given.first, FixedInput::Kind::contents, Value(given.second));
}

// What is fixed has these values in the call?
bool fits(const std::vector<FixedInput>& fixed, const Signature& signature, const CallInputs& inputs) {
  const auto isFixed = [&](const auto& given) {
    return std::any_of(fixed.begin(), fixed.end(),
                       [&](const FixedInput& one) { return one == dimOverrideOf(given); });
  };
  if (!std::all_of(inputs.overrides.begin(), inputs.overrides.end(), isFixed)) return false;
  return std::all_of(fixed.begin(), fixed.end(), [&](const FixedInput& one) {
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      if (signature.inputs[i].info.name != one.name) continue;
      return one == FixedInput::of(one.name, one.kind, inputs.values[i]);
    }
    return std::any_of(inputs.overrides.begin(), inputs.overrides.end(),
                       [&](const auto& given) { return given.first == one.name; });
  });
}

}  // namespace

Result<Runner> makeRunner(LoadedModel& model, const EngineOptions& options) {
  DYN_TRY(dyn_module * program, model.program());
  DYN_TRY(Runner made, Runner::create(program, model.hasModule() ? &model.imported() : nullptr,
                                      model.signature(), options));
  if (model.compiled())
    made.checkAfterFirstRun([compiled = model.sharedCompiled()] { return checkCachedWeights(*compiled); });
  return made;
}

bool canSpecialise(const LoadedModel& model, const Diagnostic& fault) {
  return model.kind() == ModelKind::onnx && !inputsNeeded(model, fault).empty();
}

Result<Specialisations::Made> Specialisations::make(const CallInputs& inputs,
                                                    const std::atomic<bool>* cancelled) {
  const Signature& signature = model_.signature();
  Made made;
  LoadedModel* at = &model_;
  const auto loadFixed = [&]() -> Status {
    LoadRequest request = model_.request();
    request.fixedInputs = made.fixed;
    DYN_TRY(made.model, LoadedModel::load(request, options_, cancelled));
    at = made.model.get();
    return {};
  };
  for (const auto& given : inputs.overrides) made.fixed.push_back(dimOverrideOf(given));
  if (!made.fixed.empty()) DYN_CHECK(loadFixed());
  // One need may hide another: what is still missing shows when the passes run again.
  for (;;) {
    const Status passes = at->ensurePasses();
    if (passes.ok()) break;
    bool more = false;
    for (auto [index, kind] : inputsNeeded(*at, passes.error())) {
      const std::string name = at->signature().inputs[index].info.name;
      const auto port = std::find_if(signature.inputs.begin(), signature.inputs.end(),
                                     [&](const Port& one) { return one.info.name == name; });
      const Value& value = inputs.values[static_cast<size_t>(port - signature.inputs.begin())];
      if (kind == FixedInput::Kind::contents &&
          (!value.isTensor() || value.tensor().elementCount() > kMaxDecidingElements))
        continue;
      // Numbers of its own choice have the sizes that are asked for, but no meaning.
      const bool ofSizes = kind == FixedInput::Kind::ones || kind == FixedInput::Kind::shape;
      if (isIn(inputs.random, name) && !ofSizes)
        return makeError(DiagnosticId::inputMissing,
                         "input " + name + " decides the rank or the axes of a result and is not given")
            .note("give it: --input " + name + "=...");
      auto known = std::find_if(made.fixed.begin(), made.fixed.end(),
                                [&](const FixedInput& one) { return one.name == name; });
      if (known != made.fixed.end() && known->kind >= kind) continue;
      // Mostly a shape decides by its axes of size 1: a program of those serves all other sizes.
      const bool first = known == made.fixed.end() || known->kind < FixedInput::Kind::ones;
      if (kind == FixedInput::Kind::shape && first) kind = FixedInput::Kind::ones;
      if (known == made.fixed.end()) known = made.fixed.emplace(known);
      *known = FixedInput::of(name, kind, value);
      if (known->name.empty())
        return makeError(DiagnosticId::unsupportedFeature,
                         "input " + name + " holds no tensor, so that the rank of its tensors is not known");
      more = true;
    }
    if (!more) return Error{passes.error()};
    DYN_CHECK(loadFixed());
  }
  DYN_TRY(Runner runner, makeRunner(*made.model, options_));
  made.runner = std::make_unique<Runner>(std::move(runner));
  return made;
}

Result<PreparedRun> Specialisations::prepare(CallInputs inputs, const std::atomic<bool>* cancelled,
                                             const std::function<void(const std::string&)>& say) {
  const Signature& signature = model_.signature();
  PreparedRun run;
  auto found = std::find_if(made_.begin(), made_.end(),
                            [&](const Made& one) { return fits(one.fixed, signature, inputs); });
  if (found == made_.end()) {
    DYN_TRY(Made made, make(inputs, cancelled));
    std::string text;
    for (const FixedInput& fixed : made.fixed) text += (text.empty() ? "" : ", ") + fixed.toString();
    run.kernelsCompiledCount = made.model->compiled()->statistics.kernelsCompiledCount;
    const bool overrides = made.fixed.size() == inputs.overrides.size();
    say("compiled for " + text + ": " +
        (overrides ? "given in place of a default that is part of the program"
                   : "ranks or axes of the model depend on it"));
    made_.push_front(std::move(made));
    if (made_.size() > kKeptCount) made_.pop_back();
  } else {
    made_.splice(made_.begin(), made_, found);
  }
  run.model = made_.front().model.get();
  run.runner = made_.front().runner.get();
  run.inputs = without(std::move(inputs), signature, made_.front().fixed);
  return run;
}

}  // namespace dyn
