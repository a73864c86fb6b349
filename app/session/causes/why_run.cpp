#include "app/session/causes/why_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/session/causes/cause_walk.h"
#include "app/session/causes/element_changes.h"
#include "app/session/causes/element_sources.h"
#include "app/session/causes/nearest_sizes.h"
#include "app/session/causes/needed_ops.h"
#include "app/session/causes/refused_inputs.h"
#include "app/session/causes/run_question.h"
#include "app/session/causes/run_trial.h"
#include "app/session/graph/node_ids.h"
#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/ragged_values.h"
#include "compiler/reference/reference_interpreter.h"

namespace dyn {

namespace {

using AxisKind = DimPlace::Kind;

constexpr size_t kMostChanges = 3;
constexpr size_t kLongMessage = 300;  // characters
constexpr size_t kMostSizesTried = 8;
constexpr double kSearchSeconds = 0.8;  // for changes that no formula leads to

// A question about one run, answered step by step.
class RunAnswer {
 public:
  RunAnswer(SessionState& state, LoadedModel& model, const Command& command)
      : state_(state), model_(model), command_(command) {}

  Result<RunCauses> answer() {
    DYN_TRY(RunCauses causes, causesOfRun());
    nameNodes(causes);
    return causes;
  }

 private:
  Result<RunCauses> causesOfRun();
  void nameNodes(RunCauses& causes) const;
  Status takeRun();
  Result<RunCauses> ofFailure();
  Result<RunCauses> ofSize();
  Result<RunCauses> ofElement();
  void askAboutFailure(CauseWalk& walk, const RecordedRun& run);
  void askAboutIndex(CauseWalk& walk, const RecordedRun& run, int frame, const Op& op);
  void finish(CauseWalk& walk);
  void addSizeChanges(const std::vector<NearestSizes::Candidate>& candidates, const DimValues& now,
                      const std::function<std::optional<std::string>(const CallInputs&)>& verifyWith);
  void addElementChange(const ElementChange& change, const std::string& verified);
  void changesOfFailure(const CauseWalk& walk, const RecordedRun& run);
  void changesOfSize(const CauseWalk& walk, const Module& needed, int64_t now);
  void changesOfElement(const CauseWalk& walk, const Module& needed, int64_t place);
  bool isOver() const {
    return state_.interruption.requested() ||
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() > kSearchSeconds;
  }
  RecordLimits limits() const {
    RecordLimits limits;
    limits.cancelled = state_.interruption.flag();
    return limits;
  }
  ElementSearch searchOf(const CauseWalk& walk) const;
  Result<std::vector<Value>> reference(const Module& module, std::vector<Value> inputs) const {
    InterpreterOptions options;
    options.cancelled = state_.interruption.flag();
    return interpret(module, std::move(inputs), options);
  }

  SessionState& state_;
  LoadedModel& model_;
  const Command& command_;
  AskedRun run_;
  std::optional<Diagnostic> refused_;  // the inputs do not fit together
  Command inputsOf_;                   // the command that gave them
  const Module* module_ = nullptr;
  DimOrigins* origins_ = nullptr;
  std::vector<std::string> inputNames_;
  PortNames ports_;
  RunQuestion question_;
  std::optional<int64_t> want_;
  std::set<double> steps_;                       // of elements, that would make an index fit
  std::chrono::steady_clock::time_point begin_;  // of the search for changes
  RunCauses causes_;
};

Status RunAnswer::takeRun() {
  const bool hasRun = state_.lastCall && state_.lastCall->model.lock().get() == &model_;
  const bool isNew = !hasRun || command_.has("dim") || command_.has("input") || command_.has("lengths");
  inputsOf_ = command_;
  if (!isNew) {
    inputsOf_ = state_.lastCall->command;
    if (state_.lastCall->inputs) run_.inputs = *state_.lastCall->inputs;
  }
  for (const std::string& text : inputsOf_.all("input")) run_.given.insert(text.substr(0, text.find('=')));
  for (const std::string& text : inputsOf_.all("lengths")) run_.given.insert(text.substr(0, text.find('=')));
  if (!isNew && state_.lastCall->inputs) return {};
  Result<CallInputs> made =
      isNew ? callInputs(state_, model_, inputsOf_) : quietCallInputs(state_, model_, inputsOf_);
  if (made.ok()) {
    run_.inputs = *std::move(made);
  } else if (made.error().id == DiagnosticId::inputMismatch && question_.kind == RunQuestion::Kind::failure) {
    refused_ = made.error();
  } else {
    return made.takeError();
  }
  return {};
}

// Where the culprits stand in the graph.
void RunAnswer::nameNodes(RunCauses& causes) const {
  for (RunCauses::Culprit& culprit : causes.culprits) {
    ValueId value = kNoValue;
    for (const auto& [port, id] : ports_)
      if (value == kNoValue && port == culprit.name) value = id;
    if (value == kNoValue)
      value =
          module_->context->findValue(culprit.name.starts_with('%') ? culprit.name.substr(1) : culprit.name);
    if (value != kNoValue) culprit.node = NodeIds::ofValue(value);
  }
}

Result<RunCauses> RunAnswer::causesOfRun() {
  DYN_CHECK(model_.ensurePasses());
  ScratchCopy& program = model_.questions().copy();
  module_ = &program.module;
  if (hasRaggedParameters(*module_->main()))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the run of a model of ragged sequences, which are computed one by one");
  origins_ = &program.origins();
  const Signature& signature = model_.signature();
  const Function& main = *module_->main();
  for (size_t i = 0; i < std::min(signature.inputs.size(), main.parameters.size()); ++i) {
    ports_.emplace_back(signature.inputs[i].info.name, main.parameters[i].id);
    inputNames_.push_back(signature.inputs[i].info.name);
  }
  for (size_t i = 0; i < std::min(signature.outputs.size(), main.results.size()); ++i)
    ports_.emplace_back(signature.outputs[i].info.name, main.results[i]);
  DYN_TRY(question_, parseRunQuestion(*module_, ports_, command_.text("a")));
  if (command_.has("want")) {
    if (question_.kind != RunQuestion::Kind::size)
      return makeError(DiagnosticId::usageError, "--want goes with a size: y.1 --want 60");
    DYN_TRY(want_, command_.integer("want", 0));
    if (*want_ < 0) return makeError(DiagnosticId::usageError, "--want: no size is negative");
  }
  DYN_CHECK(takeRun());
  if (!run_.inputs.overrides.empty())
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: the run with another value for " +
                                                           run_.inputs.overrides[0].first +
                                                           ", which the model has a value of its own for");
  causes_.dims = run_.inputs.dims;
  if (refused_) {
    causes_.question = "why does the run fail?";
    causes_.answer = refused_->message;
    DYN_CHECK(explainRefusedInputs(state_, model_, inputsOf_, causes_));
    return std::move(causes_);
  }
  switch (question_.kind) {
    case RunQuestion::Kind::failure:
      return ofFailure();
    case RunQuestion::Kind::size:
      return ofSize();
    default:
      return ofElement();
  }
}

void RunAnswer::finish(CauseWalk& walk) {
  causes_.steps = walk.takeSteps();
  causes_.leftOutCount = walk.leftOutCount();
  causes_.culprits = walk.culprits();
  causes_.notes.insert(causes_.notes.end(), walk.notes().begin(), walk.notes().end());
}

// --- sizes ---

Result<RunCauses> RunAnswer::ofSize() {
  const Module needed = [&] {
    const std::optional<size_t> last = positionOf(*module_, question_.value);
    const Function& main = *module_->main();
    const Definition at = Uses(*module_).definition(question_.value);
    const bool isMain = at.function == &main;
    if (!last && isMain) return neededFor(*module_, 0, {question_.value});  // an input
    if (!last) return *module_;
    return neededFor(*module_, *last,
                     isMain ? std::vector<ValueId>{question_.value} : std::vector<ValueId>());
  }();
  const RecordedRun run(needed, run_.inputs.values, limits());
  if (state_.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
  if (!run.ok()) {
    Error fault(run.error());
    return std::move(fault).note("the run fails before " + question_.name + ": :why failure says why");
  }
  const Definition at = Uses(needed).definition(question_.value);
  const int frame = run.last(at.function);
  const HostTensor* tensor = run.tensor(frame, question_.value);
  const std::string asked = question_.name + "." + std::to_string(question_.axis);
  if (!tensor) {
    if (run.notKeptCount() > 0 || !run.find(frame, question_.value))
      return makeError(DiagnosticId::usageError, "this run does not come to " + question_.name);
    return makeError(DiagnosticId::typeMismatch, question_.name + " is not a tensor");
  }
  if (question_.axis < 0 || question_.axis >= tensor->rank())
    return makeError(DiagnosticId::textName, "there is no axis " + std::to_string(question_.axis) + " of " +
                                                 question_.name + ", which has " +
                                                 std::to_string(tensor->rank()));
  const int64_t size = tensor->shape()[static_cast<size_t>(question_.axis)];
  causes_.question = "how large is " + asked + " in this run?";
  causes_.answer = std::to_string(size);
  CauseWalk walk(run, *origins_, inputNames_);
  walk.askSize(frame, {AxisKind::axis, question_.value, question_.axis});
  walk.walk();
  finish(walk);
  if (want_) changesOfSize(walk, needed, size);
  return std::move(causes_);
}

ElementSearch RunAnswer::searchOf(const CauseWalk& walk) const {
  ElementSearch search;
  search.inputs = run_.inputs.values;
  search.elements = walk.levers();
  search.numbers = walk.numbers();
  search.isOver = [this] { return isOver(); };
  return search;
}

void RunAnswer::changesOfSize(const CauseWalk& walk, const Module& needed, int64_t now) {
  begin_ = std::chrono::steady_clock::now();
  if (now == *want_) {
    causes_.notes.push_back("it is " + std::to_string(now) + " already");
    return;
  }
  const auto sizeIn = [&](const std::vector<Value>& inputs) -> std::optional<int64_t> {
    const Definition at = Uses(needed).definition(question_.value);
    if (at.function == needed.main()) {
      const Result<std::vector<Value>> made = reference(needed, inputs);
      if (!made.ok() || made->empty() || !made->front().isTensor()) return std::nullopt;
      const HostTensor& tensor = made->front().tensor();
      return question_.axis < tensor.rank()
                 ? std::optional(tensor.shape()[static_cast<size_t>(question_.axis)])
                 : std::nullopt;
    }
    const RecordedRun run(needed, inputs, limits());
    const HostTensor* tensor = run.ok() ? run.tensor(run.last(at.function), question_.value) : nullptr;
    return tensor ? std::optional(tensor->shape()[static_cast<size_t>(question_.axis)]) : std::nullopt;
  };
  const std::string verified = "by a run of the reference";
  // Sizes: by the formula, where it is one over sizes of inputs.
  const NearestSizes nearest(*module_, run_.inputs.dims);
  const Dim dim = origins_->dimOf({AxisKind::axis, question_.value, question_.axis});
  std::set<SymbolId> symbols;
  bool isOfInputs = bool(dim);
  if (dim)
    for (const SymbolId symbol : symbolsOf(dim)) {
      symbols.insert(symbol);
      isOfInputs = isOfInputs && nearest.now().get(symbol);
    }
  const auto verifyWith = [&](const CallInputs& inputs) -> std::optional<std::string> {
    return sizeIn(inputs.values) == want_ ? std::optional(verified) : std::nullopt;
  };
  if (isOfInputs && !symbols.empty()) {
    addSizeChanges(nearest.find(
                       symbols,
                       [&](const DimBinding& sizes) {
                         const Result<int64_t> value = evaluate(dim, sizes);
                         return value.ok() && *value == *want_ && nearest.allHold(sizes);
                       },
                       kMostSizesTried),
                   run_.inputs.dims, verifyWith);
  } else if (!walk.levers().empty()) {
    ElementSearch search = searchOf(walk);
    search.steps = {static_cast<double>(*want_ - now), static_cast<double>(now - *want_)};
    search.distance = [&](const std::vector<Value>& inputs) -> std::optional<int64_t> {
      const std::optional<int64_t> size = sizeIn(inputs);
      return size ? std::optional(std::abs(*size - *want_)) : std::nullopt;
    };
    if (const std::optional<ElementChange> change = smallestElementChange(search))
      addElementChange(*change, verified);
  }
  // Where neither leads to it: single sizes around, by runs.
  if (causes_.changes.empty() && !isOfInputs && !walk.inputAxes().empty()) {
    std::vector<NearestSizes::Candidate> around = nearest.find(
        nearest.symbolsOfInputs(), [&](const DimBinding& sizes) { return nearest.allHold(sizes); }, 200);
    addSizeChanges(around, run_.inputs.dims, verifyWith);
  }
  if (causes_.changes.empty())
    causes_.notes.push_back("no change was found that makes it " + std::to_string(*want_) +
                            (isOver() ? ": the search ended for time" : ""));
}

// --- elements ---

Result<RunCauses> RunAnswer::ofElement() {
  const std::optional<size_t> last = positionOf(*module_, question_.value);
  const Definition whole = Uses(*module_).definition(question_.value);
  const bool isMain = whole.function == module_->main();
  const Module needed =
      !last && !isMain ? *module_
                       : neededFor(*module_, last.value_or(0),
                                   isMain ? std::vector<ValueId>{question_.value} : std::vector<ValueId>());
  const RecordedRun run(needed, run_.inputs.values, limits());
  if (state_.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
  if (!run.ok()) {
    Error fault(run.error());
    return std::move(fault).note("the run fails before " + question_.name + ": :why failure says why");
  }
  const int frame = run.last(Uses(needed).definition(question_.value).function);
  const HostTensor* tensor = run.tensor(frame, question_.value);
  if (!tensor)
    return makeError(DiagnosticId::usageError, "this run does not come to a tensor " + question_.name);
  int64_t place = 0;
  if (question_.kind == RunQuestion::Kind::notFinite) {
    while (place < tensor->elementCount() &&
           (!isReal(tensor->dtype()) || std::isfinite(tensor->realAt(place))))
      ++place;
    if (place == tensor->elementCount()) {
      causes_.question = "which element of " + question_.name + " is not finite in this run?";
      causes_.answer = "none";
      return std::move(causes_);
    }
  } else {
    if (static_cast<int>(question_.index.size()) != tensor->rank())
      return makeError(DiagnosticId::textName, question_.name + " has " + std::to_string(tensor->rank()) +
                                                   " axes: give an index for each");
    for (size_t i = 0; i < question_.index.size(); ++i) {
      const int64_t size = tensor->shape()[i];
      const int64_t index = question_.index[i] < 0 ? question_.index[i] + size : question_.index[i];
      if (index < 0 || index >= size)
        return makeError(DiagnosticId::textName, "index " + std::to_string(question_.index[i]) +
                                                     " is outside of axis " + std::to_string(i) + " of " +
                                                     question_.name + ", which has " + std::to_string(size));
      place = place * size + index;
    }
  }
  const bool isFinite = !isReal(tensor->dtype()) || std::isfinite(tensor->realAt(place));
  causes_.answer = elementValueText(*tensor, place);
  causes_.question = "what is " + question_.name + placeText(tensor->shape(), place) + " in this run?";
  CauseWalk walk(run, *origins_, inputNames_);
  walk.askElements(frame, question_.value, {place},
                   isFinite ? CauseWalk::Aim::value : CauseWalk::Aim::notFinite);
  walk.walk();
  finish(walk);
  if (!isFinite && isMain) changesOfElement(walk, needed, place);
  return std::move(causes_);
}

void RunAnswer::changesOfElement(const CauseWalk& walk, const Module& needed, int64_t place) {
  begin_ = std::chrono::steady_clock::now();
  ElementSearch search = searchOf(walk);
  search.distance = [&](const std::vector<Value>& inputs) -> std::optional<int64_t> {
    const Result<std::vector<Value>> made = reference(needed, inputs);
    if (!made.ok() || made->empty() || !made->front().isTensor()) return std::nullopt;
    const HostTensor& tensor = made->front().tensor();
    if (place >= tensor.elementCount()) return std::nullopt;
    return std::isfinite(tensor.realAt(place)) ? 0 : 1;
  };
  // What is computed with, before what decides where it stands.
  ElementSearch ofReals = search;
  std::erase_if(ofReals.elements, [&](const auto& entry) {
    const Value& value = run_.inputs.values[entry.first];
    return !value.isTensor() || !isReal(value.tensor().dtype());
  });
  std::optional<ElementChange> change = smallestElementChange(ofReals);
  if (!change) change = smallestElementChange(search);
  if (change)
    addElementChange(*change, "by a run of the reference");
  else
    causes_.notes.push_back("no change of elements was found that makes it finite");
}

// --- failures ---

Result<RunCauses> RunAnswer::ofFailure() {
  causes_.question = "why does the run fail?";
  const RunTrial trial(state_, model_.signature(), run_);
  const Status ran = trial.run(run_.inputs);
  if (state_.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
  if (ran.ok()) {
    causes_.question = "does the run fail?";
    causes_.answer = "no";
    return std::move(causes_);
  }
  const RecordedRun run(*module_, run_.inputs.values, limits());
  if (state_.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
  causes_.answer = ran.error().message;
  // Of a formula that nobody reads the reference says it with numbers.
  if (!run.ok() && causes_.answer.size() > kLongMessage && run.error().message.size() < causes_.answer.size())
    causes_.answer = run.error().message;
  if (run.ok() || !run.failed() || !run.failed()->op) {
    causes_.notes.push_back(run.ok() ? "the reference computes it: neither sizes nor values are at fault"
                                     : run.error().message);
    return std::move(causes_);
  }
  CauseWalk walk(run, *origins_, inputNames_);
  askAboutFailure(walk, run);
  walk.walk();
  finish(walk);
  changesOfFailure(walk, run);
  return std::move(causes_);
}

void RunAnswer::askAboutFailure(CauseWalk& walk, const RecordedRun& run) {
  const auto [frame, op] = *run.failed();
  std::string text = std::string(op->def->name) + " fails: " + run.error().message;
  if (!op->place.node.empty()) text += " at node " + op->place.node;
  walk.say(std::move(text), 0, NodeIds(*module_).of(*op));
  if (op->def == &ops::checkOp) {
    const std::vector<const Op*>& body = run.frame(frame).function->ops;
    const Op* demands = nullptr;
    for (size_t i = run.frame(frame).doneCount; i < body.size() && !demands; ++i)
      if (body[i]->def != &ops::checkOp) demands = body[i];
    for (const char* side : {"rhs", "lhs"}) {
      const Dim dim = op->attributes.dims(side).at(0);
      bool isFound = dim.isConstant();
      // The axis of an operand that the check is of.
      for (size_t k = 0; demands && !isFound && k < demands->operands.size(); ++k) {
        const HostTensor* tensor =
            demands->operands[k] == kNoValue ? nullptr : run.tensor(frame, demands->operands[k]);
        for (int axis = 0; tensor && axis < tensor->rank() && !isFound; ++axis) {
          const DimPlace place{AxisKind::axis, demands->operands[k], axis};
          isFound = origins_->dimOf(place) == dim;
          if (isFound) walk.askSize(frame, place, 1);
        }
      }
      if (!isFound)
        for (const SymbolId symbol : symbolsOf(dim)) walk.askSymbol(frame, symbol, 1);
    }
    return;
  }
  if (op->def->traits.gathers || op->def == &ops::scatter_elementsOp || op->def == &ops::scatter_ndOp) {
    askAboutIndex(walk, run, frame, *op);
    return;
  }
  walk.askOperands(frame, *op, 1);
}

// An index beyond the end of a table: the first such element.
void RunAnswer::askAboutIndex(CauseWalk& walk, const RecordedRun& run, int frame, const Op& op) {
  const HostTensor* table = run.tensor(frame, op.operands[0]);
  const HostTensor* indices = op.operands.size() > 1 ? run.tensor(frame, op.operands[1]) : nullptr;
  if (!table || !indices) {
    walk.askOperands(frame, op, 1);
    return;
  }
  const bool isNd = op.def == &ops::gather_ndOp || op.def == &ops::scatter_ndOp;
  const int64_t given = op.attributes.integer("axis"), rank = table->rank();
  const int64_t width = isNd && indices->rank() > 0 ? indices->shape().back() : 1;
  for (int64_t place = 0; place < indices->elementCount(); ++place) {
    const int64_t axis =
        isNd ? op.attributes.integer("batch_dims") + place % width : (given < 0 ? given + rank : given);
    if (axis < 0 || axis >= rank) continue;
    const int64_t size = table->shape()[static_cast<size_t>(axis)], index = indices->intAt(place);
    if (index >= -size && index < size) continue;
    walk.say(module_->context->valueName(op.operands[1]) + placeText(indices->shape(), place) + " is " +
                 std::to_string(index) + ", axis " + std::to_string(axis) + " of " +
                 module_->context->valueName(op.operands[0]) + " has " + std::to_string(size),
             1, NodeIds::ofMaker(Uses(*module_).definition(op.operands[1]).op, op.operands[1]));
    steps_.insert(static_cast<double>(index >= size ? size - 1 - index : -size - index));
    if (index < 0) steps_.insert(static_cast<double>(-index));
    // A table that is no constant: its size may be the one to change.
    const Definition at = Uses(*module_).definition(op.operands[0]);
    if (!at.op || at.op->def != &ops::constantOp)
      walk.askSize(frame, {AxisKind::axis, op.operands[0], axis}, 1);
    walk.askElements(frame, op.operands[1], {place}, CauseWalk::Aim::value, 1);
    return;
  }
  walk.askOperands(frame, op, 1);
}

void RunAnswer::changesOfFailure(const CauseWalk& walk, const RecordedRun& run) {
  begin_ = std::chrono::steady_clock::now();
  const RunTrial trial(state_, model_.signature(), run_);
  const auto verifyWith = [&](const CallInputs& inputs) -> std::optional<std::string> {
    return trial.run(inputs).ok() ? std::optional<std::string>("by a run") : std::nullopt;
  };
  const NearestSizes nearest(*module_, run_.inputs.dims);
  const RunCheck* check = nearest.failing(run.failed()->op);
  std::set<SymbolId> symbols = check ? nearest.symbolsOfInputs(*check) : std::set<SymbolId>();
  const bool isBySizes = !symbols.empty();
  if (isBySizes)
    addSizeChanges(
        nearest.find(
            symbols, [&](const DimBinding& sizes) { return nearest.allHold(sizes); }, kMostSizesTried),
        run_.inputs.dims, verifyWith);
  const std::optional<size_t> position = positionIn(*module_, run, run.failed()->frame, run.failed()->op);
  if (!isBySizes && position && !walk.levers().empty()) {
    const Module beginning = beginningOf(*module_, *position, {});
    ElementSearch search = searchOf(walk);
    search.steps = steps_;
    search.distance = [&](const std::vector<Value>& inputs) -> std::optional<int64_t> {
      return reference(beginning, inputs).ok() ? 0 : 1;
    };
    if (const std::optional<ElementChange> change = smallestElementChange(search)) {
      CallInputs changed = run_.inputs;
      changed.values = change->inputs;
      const Status ran = trial.run(changed);
      addElementChange(*change, ran.ok() ? "by a run" : "");
      if (!ran.ok())
        causes_.notes.push_back("with this change the run comes past this place, and fails later: " +
                                ran.error().message);
    }
  }
  if (causes_.changes.empty() && !isBySizes && !walk.inputAxes().empty() && position) {
    const Module beginning = beginningOf(*module_, *position, {});
    const std::vector<NearestSizes::Candidate> around = nearest.find(
        nearest.symbolsOfInputs(), [&](const DimBinding& sizes) { return nearest.allHold(sizes); }, 200);
    addSizeChanges(around, run_.inputs.dims, [&](const CallInputs& inputs) -> std::optional<std::string> {
      if (!reference(beginning, inputs.values).ok()) return std::nullopt;
      return verifyWith(inputs);
    });
  }
  if (causes_.changes.empty())
    causes_.notes.push_back("no change was found with which it runs" +
                            std::string(isOver() ? ": the search ended for time" : ""));
}

// --- changes ---

void RunAnswer::addSizeChanges(
    const std::vector<NearestSizes::Candidate>& candidates, const DimValues& now,
    const std::function<std::optional<std::string>(const CallInputs&)>& verifyWith) {
  const RunTrial trial(state_, model_.signature(), run_);
  std::optional<int64_t> nearest;
  for (const NearestSizes::Candidate& candidate : candidates) {
    if (causes_.changes.size() == kMostChanges || (nearest && candidate.distance > *nearest) || isOver())
      return;
    const Result<CallInputs> inputs = trial.atSizes(candidate.sizes);
    if (!inputs.ok()) {
      if (inputs.error().id == DiagnosticId::unsupportedFeature) {
        causes_.notes.push_back(inputs.error().message);
        return;
      }
      continue;
    }
    const std::optional<std::string> verified = verifyWith(*inputs);
    if (!verified) continue;
    RunCauses::Change change;
    change.verified = *verified;
    change.distance = candidate.distance;
    for (const auto& [name, value] : candidate.sizes) {
      const auto before = now.find(name);
      if (before != now.end() && before->second == value) continue;
      change.dims[name] = value;
      change.text += (change.text.empty() ? "" : ", ") + name + " = " + std::to_string(value) +
                     (before == now.end() ? "" : " instead of " + std::to_string(before->second));
    }
    nearest = candidate.distance;
    causes_.changes.push_back(std::move(change));
  }
}

void RunAnswer::addElementChange(const ElementChange& found, const std::string& verified) {
  RunCauses::Change change;
  change.verified = verified;
  change.distance = static_cast<int64_t>(found.edits.size());
  for (const ElementEdit& edit : found.edits) {
    const HostTensor& tensor = found.inputs[edit.input].tensor();
    RunCauses::ElementChange element;
    element.input = edit.input < inputNames_.size() ? inputNames_[edit.input] : "";
    element.index = indexOfPlace(tensor.shape(), edit.place);
    element.from = elementValueText(run_.inputs.values[edit.input].tensor(), edit.place);
    element.to = elementValueText(tensor, edit.place);
    change.text += (change.text.empty() ? "" : ", ") + element.input + placeText(tensor.shape(), edit.place) +
                   " = " + element.to + " instead of " + element.from;
    change.elements.push_back(std::move(element));
  }
  causes_.changes.push_back(std::move(change));
}

}  // namespace

Result<RunCauses> whyOfRun(SessionState& state, const Command& why) {
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package has no values but its inputs and outputs")
        .note("ask of the model it was compiled from");
  if (why.has("b"))
    return makeError(DiagnosticId::usageError, "of a run one size, element or failure is asked for");
  return RunAnswer(state, *model, why).answer();
}

}  // namespace dyn
