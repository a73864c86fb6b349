#include "app/session/causes/why_run.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "app/session/causes/cause_walk.h"
#include "app/session/causes/element_changes.h"
#include "app/session/causes/element_sources.h"
#include "app/session/causes/nearest_sizes.h"
#include "app/session/causes/run_trial.h"
#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/ragged_values.h"
#include "compiler/reference/reference_interpreter.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

using AxisKind = DimPlace::Kind;

constexpr size_t kMostChanges = 3;
constexpr size_t kMostSizesTried = 8;
constexpr double kSearchSeconds = 2;  // for changes that no formula leads to
const std::string kFailure = "failure";

// What is asked: `y.1`, `y[2,5]`, `y[nan]`, or why the run failed.
struct Question {
  enum class Kind : uint8_t { failure, size, element, notFinite } kind = Kind::failure;
  ValueId value = kNoValue;
  std::string name;  // as it was asked
  int64_t axis = 0;
  std::vector<int64_t> index;
};

std::optional<int64_t> wholeNumber(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

using PortNames = std::vector<std::pair<std::string, ValueId>>;

Result<ValueId> valueNamed(const Module& module, const PortNames& ports, const std::string& name) {
  for (const auto& [port, value] : ports)
    if (port == name) return value;
  if (const ValueId value = module.context->findValue(name); value != kNoValue) {
    const Definition at = Uses(module).definition(value);
    if (at.function) return value;
  }
  std::vector<std::string_view> names;
  for (const auto& [port, value] : ports) names.push_back(port);
  const std::string near = suggestion(name, names);
  return makeError(DiagnosticId::textName, "there is no value '" + name + "'")
      .note(near.empty() ? ":ir import lists all values" : "did you mean " + near + "?");
}

Result<Question> parseQuestion(const Module& module, const PortNames& ports, std::string text) {
  Question question;
  if (!text.empty() && text[0] == '%') text.erase(0, 1);
  if (text == kFailure) return question;
  if (const size_t open = text.find('['); open != std::string::npos) {
    if (text.back() != ']')
      return makeError(DiagnosticId::usageError, "'" + text + "' is not an element: write y[2,5] or y[nan]");
    question.name = text.substr(0, open);
    DYN_TRY(question.value, valueNamed(module, ports, question.name));
    const std::string inner = text.substr(open + 1, text.size() - open - 2);
    question.kind = inner == "nan" ? Question::Kind::notFinite : Question::Kind::element;
    for (size_t at = 0; inner != "nan" && at < inner.size();) {
      const size_t end = std::min(inner.find(',', at), inner.size());
      const std::optional<int64_t> index = wholeNumber(std::string_view(inner).substr(at, end - at));
      if (!index)
        return makeError(DiagnosticId::usageError, "'" + text + "': an index is a whole number: y[2,5]");
      question.index.push_back(*index);
      at = end + 1;
    }
    return question;
  }
  const size_t dot = text.rfind('.');
  const std::optional<int64_t> axis =
      dot == std::string::npos ? std::nullopt : wholeNumber(std::string_view(text).substr(dot + 1));
  if (!axis)
    return makeError(DiagnosticId::usageError, "'" + text + "' is nothing that a run has")
        .note("ask for y.1 (a size), y[2,5] (an element), y[nan] (the first that is not finite), or failure");
  question.kind = Question::Kind::size;
  question.name = text.substr(0, dot);
  question.axis = *axis;
  DYN_TRY(question.value, valueNamed(module, ports, question.name));
  return question;
}

// @main as far as its operation `last`, with these results.
Module beginningOf(const Module& module, size_t last, std::vector<ValueId> results) {
  Function main = *module.main();
  main.ops.resize(std::min(main.ops.size(), last + 1));
  std::map<ValueId, Type> types;
  for (const Parameter& parameter : main.parameters) types[parameter.id] = parameter.type;
  for (const Op* op : main.ops)
    for (const ValueDef& result : op->results) types[result.id] = result.type;
  main.resultTypes.clear();
  for (ValueId value : results) main.resultTypes.push_back(types[value]);
  main.results = std::move(results);
  Module changed = module;
  for (const Function*& function : changed.functions)
    if (function == module.main()) {
      function = module.context->own(std::move(main));
      break;
    }
  return changed;
}

// Those operations of @main alone that `last` needs; sizes that are read from elements stay.
Module neededFor(const Module& module, size_t last, std::vector<ValueId> results) {
  Module beginning = beginningOf(module, last, results);
  const Function& whole = *beginning.main();
  std::set<ValueId> needed(results.begin(), results.end());
  std::vector<const Op*> ops;
  for (size_t i = whole.ops.size(); i-- > 0;) {
    const Op* op = whole.ops[i];
    bool takes = i == last || op->def == &ops::bind_dimsOp;
    for (const ValueDef& result : op->results) takes = takes || needed.count(result.id) != 0;
    if (!takes) continue;
    for (ValueId operand : op->operands) needed.insert(operand);
    ops.push_back(op);
  }
  std::reverse(ops.begin(), ops.end());
  Function main = whole;
  main.ops = std::move(ops);
  for (const Function*& function : beginning.functions)
    if (function == &whole) {
      function = module.context->own(std::move(main));
      break;
    }
  return beginning;
}

// The operation of @main that an operation stands in or is; nothing: it is in a function that is called.
std::optional<size_t> positionIn(const Module& module, const RecordedRun& run, int frame, const Op* op) {
  while (run.frame(frame).parent >= 0) {
    op = run.frame(frame).caller;
    frame = run.frame(frame).parent;
  }
  const std::vector<const Op*>& ops = module.main()->ops;
  const auto found = std::find(ops.begin(), ops.end(), op);
  if (found == ops.end()) return std::nullopt;
  return static_cast<size_t>(found - ops.begin());
}

std::optional<size_t> positionOf(const Module& module, ValueId value) {
  // A value in a body: the operation of @main around it.
  const Uses uses(module);
  Definition at = uses.definition(value);
  std::map<const Function*, std::pair<const Function*, const Op*>> owners;
  for (const FunctionVisit& visit : functionsOf(module))
    if (visit.owner) owners[visit.function] = {visit.outer, visit.owner};
  const Op* op = at.op;
  const Function* function = at.function;
  while (function && function != module.main()) {
    const auto owner = owners.find(function);
    if (owner == owners.end()) return std::nullopt;
    op = owner->second.second;
    function = owner->second.first;
  }
  const std::vector<const Op*>& ops = module.main()->ops;
  const auto found = std::find(ops.begin(), ops.end(), op);
  if (found == ops.end()) return std::nullopt;
  return static_cast<size_t>(found - ops.begin());
}

// A question about one run, answered step by step.
class RunQuestion {
 public:
  RunQuestion(SessionState& state, LoadedModel& model, const Command& command)
      : state_(state), model_(model), command_(command) {}

  Result<RunCauses> answer();

 private:
  Status takeRun();
  Result<RunCauses> ofFailure();
  Result<RunCauses> ofSize();
  Result<RunCauses> ofElement();
  Result<RunCauses> ofRefusedInputs(const Diagnostic& fault);
  void askAboutFailure(CauseWalk& walk, const RecordedRun& run);
  void askAboutIndex(CauseWalk& walk, const RecordedRun& run, int frame, const Op& op);
  void finish(CauseWalk& walk);
  void addSizeChanges(const std::vector<NearestSizes::Candidate>& candidates, const DimValues& now,
                      const std::function<std::optional<std::string>(const CallInputs&)>& verify);
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
  Question question_;
  std::optional<int64_t> want_;
  std::set<double> steps_;  // of elements, that would make an index fit
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  RunCauses causes_;
};

Status RunQuestion::takeRun() {
  const bool hasRun = state_.lastCall && state_.lastCall->model.lock().get() == &model_;
  const bool isNew =
      !hasRun || command_.has("dim") || command_.has("input") || command_.has("lengths");
  inputsOf_ = command_;
  if (!isNew) {
    inputsOf_ = state_.lastCall->command;
    if (state_.lastCall->inputs) run_.inputs = *state_.lastCall->inputs;
  }
  for (const std::string& text : inputsOf_.all("input")) run_.given.insert(text.substr(0, text.find('=')));
  for (const std::string& text : inputsOf_.all("lengths")) run_.given.insert(text.substr(0, text.find('=')));
  if (!isNew && state_.lastCall->inputs) return {};
  Result<CallInputs> made = isNew ? callInputs(state_, model_, inputsOf_)
                                  : quietCallInputs(state_, model_, inputsOf_);
  if (made.ok()) {
    run_.inputs = *std::move(made);
  } else if (made.error().id == DiagnosticId::inputMismatch && question_.kind == Question::Kind::failure) {
    refused_ = made.error();
  } else {
    return made.takeError();
  }
  return {};
}

Result<RunCauses> RunQuestion::answer() {
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
  DYN_TRY(question_, parseQuestion(*module_, ports_, command_.text("a")));
  if (command_.has("want")) {
    if (question_.kind != Question::Kind::size)
      return makeError(DiagnosticId::usageError, "--want goes with a size: y.1 --want 60");
    DYN_TRY(want_, command_.integer("want", 0));
    if (*want_ < 0) return makeError(DiagnosticId::usageError, "--want: no size is negative");
  }
  DYN_CHECK(takeRun());
  if (!run_.inputs.overrides.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the run with another value for " + run_.inputs.overrides[0].first +
                         ", which the model has a value of its own for");
  causes_.dims = run_.inputs.dims;
  if (refused_) return ofRefusedInputs(*refused_);
  switch (question_.kind) {
    case Question::Kind::failure:
      return ofFailure();
    case Question::Kind::size:
      return ofSize();
    default:
      return ofElement();
  }
}

void RunQuestion::finish(CauseWalk& walk) {
  causes_.steps = walk.takeSteps();
  causes_.leftOutCount = walk.leftOutCount();
  causes_.culprits = walk.culprits();
  causes_.notes.insert(causes_.notes.end(), walk.notes().begin(), walk.notes().end());
}

// --- sizes ---

Result<RunCauses> RunQuestion::ofSize() {
  const Module needed = [&] {
    const std::optional<size_t> last = positionOf(*module_, question_.value);
    const Function& main = *module_->main();
    const Definition at = Uses(*module_).definition(question_.value);
    const bool isMain = at.function == &main;
    if (!last && isMain) return neededFor(*module_, 0, {question_.value});  // an input
    if (!last) return *module_;
    return neededFor(*module_, *last, isMain ? std::vector<ValueId>{question_.value} : std::vector<ValueId>());
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

ElementSearch RunQuestion::searchOf(const CauseWalk& walk) const {
  ElementSearch search;
  search.inputs = run_.inputs.values;
  search.elements = walk.inputElements();
  search.numbers = walk.numbers();
  search.isOver = [this] { return isOver(); };
  return search;
}

void RunQuestion::changesOfSize(const CauseWalk& walk, const Module& needed, int64_t now) {
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
  const auto verify = [&](const CallInputs& inputs) -> std::optional<std::string> {
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
                   run_.inputs.dims, verify);
  } else if (!walk.inputElements().empty()) {
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
    addSizeChanges(around, run_.inputs.dims, verify);
  }
  if (causes_.changes.empty())
    causes_.notes.push_back("no change was found that makes it " + std::to_string(*want_) +
                            (isOver() ? ": the search ended after " + std::to_string(int(kSearchSeconds)) +
                                            " seconds"
                                      : ""));
}

// --- elements ---

Result<RunCauses> RunQuestion::ofElement() {
  const std::optional<size_t> last = positionOf(*module_, question_.value);
  const Definition whole = Uses(*module_).definition(question_.value);
  const bool isMain = whole.function == module_->main();
  const Module needed =
      !last && !isMain
          ? *module_
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
  if (question_.kind == Question::Kind::notFinite) {
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
      return makeError(DiagnosticId::textName,
                       question_.name + " has " + std::to_string(tensor->rank()) + " axes: give an index for each");
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
  causes_.question = "what is " + question_.name + indexText(tensor->shape(), place) + " in this run?";
  CauseWalk walk(run, *origins_, inputNames_);
  walk.askElements(frame, question_.value, {place}, isFinite ? CauseWalk::Aim::value : CauseWalk::Aim::notFinite);
  walk.walk();
  finish(walk);
  if (!isFinite && isMain) changesOfElement(walk, needed, place);
  return std::move(causes_);
}

void RunQuestion::changesOfElement(const CauseWalk& walk, const Module& needed, int64_t place) {
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

Result<RunCauses> RunQuestion::ofFailure() {
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

void RunQuestion::askAboutFailure(CauseWalk& walk, const RecordedRun& run) {
  const auto [frame, op] = *run.failed();
  std::string text = std::string(op->def->name) + " fails: " + run.error().message;
  if (!op->place.node.empty()) text += " at node " + op->place.node;
  walk.say(std::move(text));
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
void RunQuestion::askAboutIndex(CauseWalk& walk, const RecordedRun& run, int frame, const Op& op) {
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
    const int64_t axis = isNd ? op.attributes.integer("batch_dims") + place % width
                              : (given < 0 ? given + rank : given);
    if (axis < 0 || axis >= rank) continue;
    const int64_t size = table->shape()[static_cast<size_t>(axis)], index = indices->intAt(place);
    if (index >= -size && index < size) continue;
    walk.say(module_->context->valueName(op.operands[1]) + indexText(indices->shape(), place) + " is " +
                 std::to_string(index) + ", axis " + std::to_string(axis) + " of " +
                 module_->context->valueName(op.operands[0]) + " has " + std::to_string(size),
             1);
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

void RunQuestion::changesOfFailure(const CauseWalk& walk, const RecordedRun& run) {
  const RunTrial trial(state_, model_.signature(), run_);
  const auto verify = [&](const CallInputs& inputs) -> std::optional<std::string> {
    return trial.run(inputs).ok() ? std::optional<std::string>("by a run") : std::nullopt;
  };
  const NearestSizes nearest(*module_, run_.inputs.dims);
  const RunCheck* check = nearest.failing(run.failed()->op);
  std::set<SymbolId> symbols = check ? nearest.symbolsOfInputs(*check) : std::set<SymbolId>();
  const bool isBySizes = !symbols.empty();
  if (isBySizes)
    addSizeChanges(nearest.find(
                       symbols, [&](const DimBinding& sizes) { return nearest.allHold(sizes); },
                       kMostSizesTried),
                   run_.inputs.dims, verify);
  const std::optional<size_t> position = positionIn(*module_, run, run.failed()->frame, run.failed()->op);
  if (!isBySizes && position && !walk.inputElements().empty()) {
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
      return verify(inputs);
    });
  }
  if (causes_.changes.empty())
    causes_.notes.push_back("no change was found with which it runs" +
                            std::string(isOver() ? ": the search ended for time" : ""));
}

// --- changes ---

void RunQuestion::addSizeChanges(
    const std::vector<NearestSizes::Candidate>& candidates, const DimValues& now,
    const std::function<std::optional<std::string>(const CallInputs&)>& verify) {
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
    const std::optional<std::string> verified = verify(*inputs);
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

void RunQuestion::addElementChange(const ElementChange& found, const std::string& verified) {
  RunCauses::Change change;
  change.verified = verified;
  change.distance = static_cast<int64_t>(found.edits.size());
  for (const ElementEdit& edit : found.edits) {
    const HostTensor& tensor = found.inputs[edit.input].tensor();
    RunCauses::ElementChange element;
    element.input = edit.input < inputNames_.size() ? inputNames_[edit.input] : "";
    element.index = indexOf(tensor.shape(), edit.place);
    element.from = elementValueText(run_.inputs.values[edit.input].tensor(), edit.place);
    element.to = elementValueText(tensor, edit.place);
    change.text += (change.text.empty() ? "" : ", ") + element.input + indexText(tensor.shape(), edit.place) +
                   " = " + element.to + " instead of " + element.from;
    change.elements.push_back(std::move(element));
  }
  causes_.changes.push_back(std::move(change));
}

// --- inputs that do not fit together ---

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

Result<RunCauses> RunQuestion::ofRefusedInputs(const Diagnostic& fault) {
  causes_.question = "why does the run fail?";
  causes_.answer = fault.message;
  const Signature& signature = model_.signature();
  DYN_TRY(const auto given, valuesGiven(state_, model_, inputsOf_));
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
  for (const std::string& text : inputsOf_.all("input")) order.push_back(text.substr(0, text.find('=')));
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
    causes_.notes.push_back("which inputs do not fit together is said by the message alone");
    return std::move(causes_);
  }
  const auto addCulprit = [&](const From& from) {
    RunCauses::Culprit culprit;
    culprit.name = from.input;
    culprit.axis = from.axis;
    culprit.size = from.size;
    culprit.text =
        "axis " + std::to_string(from.axis) + " of " + from.input + " is " + std::to_string(from.size);
    causes_.culprits.push_back(std::move(culprit));
  };
  addCulprit(clash->at);
  for (const From& other : clash->others) addCulprit(other);
  // The axis that does not fit gets the size of the others; or they get its size.
  const RunTrial trial(state_, signature, run_);
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
      change.text += (change.text.empty() ? "axis " : ", axis ") + std::to_string(from.axis) + " of " +
                     from.input + " = " + std::to_string(size) + " instead of " + std::to_string(from.size);
    }
    const Result<CallInputs> inputs = trial.with(values);
    if (!inputs.ok() || !trial.run(*inputs).ok()) return;
    change.verified = "by a run";
    causes_.changes.push_back(std::move(change));
  };
  attempt({clash->at}, clash->demanded);
  if (!clash->others.empty()) attempt(clash->others, clash->at.size);
  std::stable_sort(causes_.changes.begin(), causes_.changes.end(),
                   [](const auto& a, const auto& b) { return a.distance < b.distance; });
  if (causes_.changes.empty()) causes_.notes.push_back("no change was found with which it runs");
  return std::move(causes_);
}

}  // namespace

bool isOfRun(const Command& why) {
  for (const char* option : {"run", "dim", "input", "lengths", "want"})
    if (why.has(option)) return true;
  const std::string asked = why.text("a");
  return asked == kFailure || asked.find('[') != std::string::npos;
}

Result<RunCauses> whyOfRun(SessionState& state, const Command& why) {
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package has no values but its inputs and outputs")
        .note("ask of the model it was compiled from");
  if (why.has("b"))
    return makeError(DiagnosticId::usageError, "of a run one size, element or failure is asked for");
  return RunQuestion(state, *model, why).answer();
}

}  // namespace dyn
