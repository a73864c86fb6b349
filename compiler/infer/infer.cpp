#include "compiler/infer/infer.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/dims/solver_work.h"
#include "compiler/infer/infer_driver.h"
#include "compiler/infer/infer_functions.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/precondition_rules.h"
#include "compiler/ops/rules/type_zip.h"

namespace dyn {

namespace {

// Does the fact hold before anything has run? What an earlier inference learnt from a check is learnt anew
// from the check itself: the module at hand may not have it. So is what makes sizes of the inside equal: a
// representative found too early is a dim without a value.
bool holdsFromTheStart(const Fact& fact, const std::unordered_set<SymbolId>& entrySymbols) {
  if (isOfCheck(fact)) return false;
  if (fact.kind != FactKind::equal && fact.kind != FactKind::equalProduct) return true;
  for (Dim side : {fact.a, fact.b})
    for (SymbolId symbol : symbolsOf(side))
      if (!entrySymbols.count(symbol)) return false;
  return true;
}

// What a fact says, and why. By the numbers of its dims: the text of a large dim is long, and is cut.
using FactKey = std::tuple<FactKind, uint32_t, uint32_t, std::optional<int64_t>, std::optional<int64_t>,
                           int64_t, std::vector<int64_t>, std::string>;
FactKey keyOf(const Fact& fact) {
  return {fact.kind,   fact.a.id(),     fact.b ? fact.b.id() : UINT32_MAX, fact.low, fact.high, fact.multiple,
          fact.likely, fact.reason.text};
}

}  // namespace

InferDriver::InferDriver(const Module& module, IrContext& ir, int64_t maxSteps)
    : module_(module), ir_(ir), solver_(ir.dims()), stepsLeft_(maxSteps), types_(ir.valueCount()) {
  std::unordered_set<SymbolId> entrySymbols;
  for (const Function* function : module.functions)
    for (const Parameter& parameter : function->parameters)
      if (parameter.type)
        for (SymbolId symbol : symbolsOf(parameter.type)) entrySymbols.insert(symbol);
  for (const Fact& fact : ir.facts().facts())
    if (holdsFromTheStart(fact, entrySymbols)) (void)addFact(&solver_, fact);
  baseFacts_ = solver_.facts().size();
}

Status InferDriver::publishFacts() {
  const std::vector<Fact>& facts = solver_.facts();
  // Inferring again learns the same again: that is not told twice.
  std::set<FactKey> known;
  for (const Fact& fact : ir_.facts().facts()) known.insert(keyOf(fact));
  for (size_t i = baseFacts_; i < facts.size(); ++i) {
    if (!known.insert(keyOf(facts[i])).second) continue;
    Status added = addFact(&ir_.facts(), facts[i]);
    if (!added.ok()) return added.takeError();
  }
  return {};
}

InferredModule InferDriver::takeResult() {
  InferredModule result;
  result.module = std::move(module_);
  result.checksInserted = checksInserted_;
  result.contents = std::move(contents_);
  result.warnings = std::move(warnings_);
  return result;
}

void InferDriver::OpState::restart() {
  freshUsed = 0;
  results.clear();
  contents.clear();
  pending.reset();
}

void InferDriver::expectResults(int region, std::vector<Type> expected) {
  stack_.back().state.expected[region] = std::move(expected);
}

std::vector<ControlInferContext::WidenedAxis> InferDriver::widenedBefore() {
  OpState& state = stack_.back().state;
  if (!state.widenedBefore) {
    auto known = widened_.find(op_->regions[0]);
    state.widenedBefore = known == widened_.end() ? std::vector<WidenedAxis>() : known->second;
  }
  return *state.widenedBefore;
}

void InferDriver::rememberWidened(std::vector<WidenedAxis> axes) {
  widened_[op_->regions[0]] = std::move(axes);
}

void InferDriver::setValue(ValueId id, Type type) {
  if (id >= types_.size()) types_.resize(static_cast<size_t>(id) + 1);
  types_[id] = type;
  contents_.erase(id);
  constants_.erase(id);
}

void InferDriver::defineSymbols(Dim dim) {
  for (SymbolId symbol : symbolsOf(dim)) {
    if (symbol >= inScope_.size()) inScope_.resize(static_cast<size_t>(symbol) + 1, 0);
    if (inScope_[symbol]) continue;
    inScope_[symbol] = 1;
    scopeLog_.push_back(symbol);
  }
}

// Symbols of tensors that stand for one value; elements of lists have sizes of their own.
void InferDriver::define(Type type) {
  if (symbolsOf(type).empty()) return;
  (void)mapDims(ir_, type, [&](Dim d, const TypePath& path) {
    if (!path.nested) defineSymbols(d);
    return d;
  });
}

Status InferDriver::enter(const Function* function, std::span<const Type> types, bool isRegion) {
  if (types.size() != function->parameters.size()) {
    return makeError(DiagnosticId::badOperands,
                     "@" + function->name + " has " + std::to_string(function->parameters.size()) +
                         " parameters, not the " + std::to_string(types.size()) + " demanded here",
                     function->place);
  }
  const Frame* owner = isRegion ? &stack_.back() : nullptr;
  const size_t captures = isRegion ? static_cast<size_t>(captureCount(*op_)) : 0;
  Frame frame;
  frame.source = function;
  frame.todo = function->ops;
  frame.results = function->results;
  frame.isRegion = isRegion;
  frame.solverMark = solver_.mark();
  frame.scopeMark = scopeLog_.size();
  frame.demandMark = demandLog_.size();
  if (owner) frame.renamed = owner->renamed;
  for (size_t i = 0; i < types.size(); ++i) {
    const Parameter& parameter = function->parameters[i];
    if (isRegion && parameter.type && types[i] && parameter.type.isTensor() && types[i].isTensor() &&
        parameter.type.rank() == types[i].rank()) {
      for (size_t axis = 0; axis < types[i].dims().size(); ++axis) {
        const Dim before = parameter.type.dims()[axis], now = types[i].dims()[axis];
        if (before.isSymbol() && before != now && !inScope(before)) frame.renamed[before.symbol()] = now;
      }
    }
    if (!types[i]) {
      return makeError(DiagnosticId::invalidIr,
                       "parameter " + std::to_string(i) + " of @" + function->name + " has no type",
                       function->place);
    }
    setValue(parameter.id, types[i]);
    define(types[i]);
    frame.parameters.push_back({parameter.id, types[i]});
    frame.changed = frame.changed || types[i] != parameter.type;
    const size_t fromEnd = types.size() - i;
    if (fromEnd <= captures) {
      const ValueId source = op_->operands[op_->operands.size() - fromEnd];
      if (auto known = contents_.find(source); known != contents_.end()) {
        Contents copy = known->second;
        contents_[parameter.id] = std::move(copy);
      }
      if (auto known = constants_.find(source); known != constants_.end()) {
        const HostTensor* tensor = known->second;
        constants_[parameter.id] = tensor;
      }
    }
  }
  stack_.push_back(std::move(frame));
  return {};
}

Status InferDriver::inferFunction(const Function* function) {
  std::vector<Type> types;
  for (const Parameter& parameter : function->parameters) types.push_back(parameter.type);
  finished_ = nullptr;
  DYN_CHECK(enter(function, types, false));
  while (!stack_.empty()) {
    Status done = stack_.back().next == stack_.back().todo.size() ? finishFrame() : step();
    if (done.ok()) continue;
    Error fault = done.takeError();
    if (takeOther(fault)) continue;
    for (const std::string& other : impossible_)
      fault.diagnostic().notes.push_back("a branch before it was left because of: " + other);
    return fault;
  }
  for (const Function*& listed : module_.functions) {
    if (listed == function) listed = finished_;
  }
  return {};
}

Status InferDriver::inferAsked(const Op& op) {
  const SolverWorkScope work(ir_.dims(), [this, &op] {
    std::string text(op.def->name);
    if (!op.results.empty() && op.results[0].id != kNoValue) text += " %" + ir_.valueName(op.results[0].id);
    return op.place.known() ? text + " (" + op.place.toString() + ")" : text;
  });
  return op.def->infer(*this);
}

Status InferDriver::step() {
  Frame& frame = stack_.back();
  if (!frame.renamed.empty()) renameSymbols(frame);
  const Op* source = frame.todo[frame.next];
  op_ = source;
  if (--stepsLeft_ < 0) {
    return error(DiagnosticId::memoryLimit, "type inference took too many steps: loops are nested too deep");
  }
  if (!source->def || !source->def->infer) {
    return error(DiagnosticId::unsupportedOp, "the operation has no type rule");
  }
  const int count = operandCount();
  if (count < source->def->minOperands ||
      (source->def->maxOperands >= 0 && count > source->def->maxOperands)) {
    const int least = source->def->minOperands, most = source->def->maxOperands;
    const bool single = (most == least ? least : most < 0 ? least : most) == 1;
    return error(DiagnosticId::badOperands,
                 "it takes " +
                     (most < 0       ? "at least " + std::to_string(least)
                      : most > least ? std::to_string(least) + " to " + std::to_string(most)
                                     : std::to_string(least)) +
                     (single ? " operand" : " operands") + ", not " + std::to_string(count));
  }
  for (int i = 0; i < count; ++i) {
    if (hasOperand(i) && (operandId(i) >= types_.size() || !types_[operandId(i)])) {
      return error(DiagnosticId::invalidIr, "operand " + std::to_string(i) + " (%" +
                                                ir_.valueName(operandId(i)) +
                                                ") is used before it is defined");
    }
    // A loop may leave out its trip count and its condition.
    if (!hasOperand(i) && i < source->def->minOperands && source->def != &ops::loopOp) {
      return error(DiagnosticId::badOperands, "operand " + std::to_string(i) + " is missing");
    }
  }
  if (const Function* branch = sureBranch(*source)) return inlineBranch(frame, *source, *branch);
  frame.state.restart();
  Status inferred = checkAttributeValues(*this);
  if (inferred.ok()) inferred = inferAsked(*source);
  if (frame.state.pending) {
    const RegionCall& pending = *frame.state.pending;
    if (pending.region < 0 || static_cast<size_t>(pending.region) >= source->regions.size()) {
      return error(DiagnosticId::invalidIr, "a body is missing");
    }
    const std::vector<Type> types = pending.parameters;
    return enter(source->regions[static_cast<size_t>(pending.region)], types, true);
  }
  if (!inferred.ok()) {
    if (inferred.error().id == DiagnosticId::unsupportedFeature && canSplit(*source))
      return splitContinuation(frame, *source);
    Error wrong = inferred.takeError();
    if (wrong.diagnostic().op.empty()) wrong.diagnostic().op = source->def->name;
    return std::move(wrong).at(source->place);
  }
  return finishOp(frame, source);
}

void InferDriver::renameSymbols(Frame& frame) {
  const Op*& op = frame.todo[frame.next];
  const Op* renamed = substituteDims(ir_, *op, [&](SymbolId symbol) {
    auto found = frame.renamed.find(symbol);
    return found == frame.renamed.end() || inScope(ir_.dims().symbolById(symbol)) ? Dim() : found->second;
  });
  frame.changed = frame.changed || renamed != op;
  op = renamed;
}

const Function* InferDriver::sureBranch(const Op& op) const {
  if (op.def != &ops::ifOp || op.regions.size() != 2) return nullptr;
  std::optional<Contents> condition = operandContents(0);
  if (!condition || condition->size() != 1 || !condition->front() || !condition->front().isConstant())
    return nullptr;
  return op.regions[*condition->front().constant() != 0 ? 0 : 1];
}

bool InferDriver::isFresh(const OpState& state, Dim dim) {
  return dim.isSymbol() && std::find(state.fresh.begin(), state.fresh.end(), dim) != state.fresh.end();
}

// The dim in the names that annotations gave to sizes that the operation makes known.
Dim InferDriver::named(const OpState& state, Dim dim) {
  if (state.aliases.empty()) return dim;
  return substitute(dim, [&](SymbolId symbol) {
    for (const auto& [fresh, alias] : state.aliases)
      if (fresh == symbol) return alias;
    return Dim();
  });
}

Result<Dim> InferDriver::meetDim(OpState& state, Dim inferred, Dim annotated, std::string_view what,
                                 const SourceLocation& place) {
  inferred = named(state, inferred);
  if (inferred == annotated) return inferred;
  const Reason annotation{"annotation of " + std::string(what), place};
  if (annotated.isSymbol() && !inScope(annotated)) {
    if (isFresh(state, inferred)) {
      DYN_CHECK(solver_.addEqual(inferred, annotated, annotation));
      state.aliases.emplace_back(inferred.symbol(), annotated);
      return annotated;
    }
    if (ir_.dims().isAnonymous(annotated.symbol())) {
      stack_.back().renamed.try_emplace(annotated.symbol(), inferred);  // later attributes name it
      return inferred;
    }
    if (solver_.factsAbout(annotated.symbol()).empty()) {
      DYN_CHECK(solver_.addEqual(annotated, inferred, annotation));
      return annotated;
    }
  } else if (!inScope(annotated)) {
    Diagnostic warning;
    warning.id = DiagnosticId::warning;
    warning.severity = Severity::warning;
    warning.message = "the annotation " + annotated.toString() + " of " + std::string(what) +
                      " uses a dim that is not known here; it is left out";
    warning.place = place;
    warnings_.push_back(std::move(warning));
    return inferred;
  }
  switch (solver_.equal(inferred, annotated)) {
    case Answer::yes:
      return inferred;
    case Answer::no:
      return makeError(DiagnosticId::shapeMismatch,
                       std::string(what) + ": " + inferred.toString() + " vs " + annotated.toString(), place);
    case Answer::unknown:
      break;
  }
  const Dim a = solver_.canonical(inferred), b = solver_.canonical(annotated);
  if (demanded('=', a, b) || demanded('=', b, a)) return inferred;
  const Reason reason{std::string(kCheckReason) + std::string(what), place};
  const Op* check = checkOp("eq", inferred, annotated, what, place);
  remember('=', a, b);
  if (inScope(inferred)) {
    stack_.back().ops.push_back(check);
    stack_.back().changed = true;
    DYN_CHECK(solver_.addEqual(inferred, annotated, reason));
  } else {
    state.after.push_back({check, inferred, annotated, reason});
  }
  return inferred;
}

// Sizes that the operation makes known take the names that the annotations give them. It is done for all
// results before any is met: a size of the first may be computed from one that stands alone in the last.
void InferDriver::nameFreshDims(OpState& state, const Op& op) {
  if (state.fresh.empty()) return;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Type annotation = op.results[i].type;
    if (!state.results[i] || !annotation || annotation == state.results[i]) continue;
    const std::string what = resultName(op.results[i]);
    // What does not fit is found by meetAnnotation.
    (void)zipTypes(ir_, state.results[i], annotation, what,
                   [&](Dim t, Dim a, const TypePath& path) -> Result<Dim> {
                     if (path.nested || !isFresh(state, t) || !a.isSymbol() || inScope(a)) return t;
                     return meetDim(state, t, a, what + " " + path.text, op.place);
                   });
  }
}

std::string InferDriver::resultName(const ValueDef& result) const {
  return result.id == kNoValue ? "a result left out" : "%" + ir_.valueName(result.id);
}

Result<Type> InferDriver::meetAnnotation(OpState& state, Type inferred, Type annotation,
                                         std::string_view what, const SourceLocation& place) {
  if (!annotation)
    return mapDims(ir_, inferred,
                   [&](Dim d, const TypePath& path) { return path.nested ? d : named(state, d); });
  if (annotation == inferred) return inferred;
  std::unordered_map<SymbolId, Dim> renamed;
  Result<Type> met =
      zipTypes(ir_, inferred, annotation, what, [&](Dim t, Dim a, const TypePath& path) -> Result<Dim> {
        if (path.nested) {
          // Elements of a list, and functions, have sizes of their own: a `?` keeps its number, also where
          // others are computed from it.
          const bool open = t.isSymbol() && a.isSymbol() && !inScope(t) && !inScope(a);
          if (open) return renamed.emplace(t.symbol(), a).first->second;
          return substitute(t, [&](SymbolId symbol) {
            const auto found = renamed.find(symbol);
            return found == renamed.end() ? Dim() : found->second;
          });
        }
        return meetDim(state, t, a, std::string(what) + " " + path.text, place);
      });
  if (met.ok()) return met;
  return met.takeError().at(place);
}

// Each dim in its representative form, as long as that has a value here.
Type InferDriver::canonicalType(Type type) {
  if (symbolsOf(type).empty()) return type;
  return mapDims(ir_, type, [&](Dim d, const TypePath&) {
    const Dim canonical = solver_.canonical(d);
    if (canonical == d) return d;
    return inScope(canonical) || !inScope(d) ? canonical : d;
  });
}

Status InferDriver::finishOp(Frame& frame, const Op* source) {
  OpState& state = frame.state;
  if (state.leftOut) {
    ++frame.next;
    frame.changed = true;
    frame.state = OpState();
    return {};
  }
  DYN_CHECK(demandElements(*source));
  if (state.results.size() != source->results.size()) {
    return error(DiagnosticId::badOperands, "it gives " + std::to_string(state.results.size()) +
                                                " results, not " + std::to_string(source->results.size()));
  }
  std::vector<const Function*> regions = source->regions;
  for (const RegionCall& call : state.regionCalls) regions[static_cast<size_t>(call.region)] = call.function;
  bool changed = regions != source->regions;
  std::vector<ValueDef> results = source->results;
  nameFreshDims(state, *source);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!state.results[i]) {
      if (results[i].id == kNoValue) continue;
      return error(DiagnosticId::internalError,
                   "the type rule leaves result " + std::to_string(i) + " without a type");
    }
    const std::string what = resultName(results[i]);
    DYN_TRY(Type met, meetAnnotation(state, state.results[i], results[i].type, what, source->place));
    bool fits = true;
    mapDims(ir_, met, [&](Dim d, const TypePath&) {
      fits = fits && !d.isInvalid();
      return d;
    });
    if (!fits) {
      return error(DiagnosticId::dimOverflow,
                   "a size of " + what + " does not fit in 64 bits, or divides by zero");
    }
    // A symbol the annotation introduces here stands for itself; everything else gets its representative.
    results[i].type = canonicalType(met);
    changed = changed || results[i].type != source->results[i].type;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].id == kNoValue) continue;
    setValue(results[i].id, results[i].type);
    define(results[i].type);
  }
  for (auto& [index, contents] : state.contents) {
    if (static_cast<size_t>(index) >= results.size()) continue;
    for (Dim& d : contents) {
      if (!d) continue;
      d = d.isInvalid() ? Dim() : solver_.canonical(d);
      if (d && !inScope(d)) d = Dim();
    }
    contents_[results[static_cast<size_t>(index)].id] = std::move(contents);
  }
  if (const HostTensor* value = source->attributes.tensor("value");
      value && source->def == &ops::constantOp && !results.empty()) {
    constants_[results[0].id] = value;
  }
  const Op* made = source;
  if (changed) {
    Op copy = *source;
    copy.results = std::move(results);
    copy.regions = std::move(regions);
    made = ir_.own(std::move(copy));
  }
  evaluateConstants(*made);
  frame.ops.push_back(made);
  for (const LateCheck& late : state.after) {
    frame.ops.push_back(late.check);
    DYN_CHECK(solver_.addEqual(late.a, late.b, late.reason));
  }
  frame.changed = frame.changed || made != source || !state.after.empty();
  ++frame.next;
  frame.state = OpState();
  return {};
}

// What was learnt in a body does not hold behind it.
void InferDriver::leaveFrame() {
  const Frame& frame = stack_.back();
  if (frame.isRegion) solver_.rollback(frame.solverMark);
  while (scopeLog_.size() > frame.scopeMark) {
    inScope_[scopeLog_.back()] = 0;
    scopeLog_.pop_back();
  }
  while (frame.isRegion && demandLog_.size() > frame.demandMark) {
    demands_.erase(demandLog_.back());
    demandLog_.pop_back();
  }
  stack_.pop_back();
}

Status InferDriver::finishFrame() {
  Frame& frame = stack_.back();
  const Function* source = frame.source;
  const bool isRegion = frame.isRegion;
  std::vector<Type> expected(frame.results.size());
  if (isRegion) {
    OpState& owner = stack_[stack_.size() - 2].state;
    auto found = owner.expected.find(owner.pending->region);
    if (found != owner.expected.end()) expected = found->second;
  } else if (source->resultTypes.size() == frame.results.size()) {
    expected = source->resultTypes;
  }
  expected.resize(frame.results.size());
  std::vector<Type> types;
  for (size_t i = 0; i < frame.results.size(); ++i) {
    const ValueId id = frame.results[i];
    if (id >= types_.size() || !types_[id]) {
      return makeError(DiagnosticId::invalidIr,
                       "result " + std::to_string(i) + " of @" + source->name + " is not defined",
                       source->place);
    }
    const std::string what = "result " + std::to_string(i) + " of @" + source->name;
    Result<Type> met = meetAnnotation(frame.state, types_[id], expected[i], what, source->place);
    if (!met.ok()) {
      Error wrong = met.takeError();
      if (isRegion) {
        wrong.diagnostic().notes.push_back(
            "a dim that changes from one iteration to the next must be annotated `?`");
      }
      return wrong;
    }
    types.push_back(types_[id]);
  }
  const Function* made = source;
  if (frame.changed || types != source->resultTypes) {
    Function copy = *source;
    copy.parameters = std::move(frame.parameters);
    copy.ops = std::move(frame.ops);
    copy.results = std::move(frame.results);
    copy.resultTypes = types;
    made = ir_.own(std::move(copy));
  }
  leaveFrame();
  if (!isRegion) {
    finished_ = made;
    return {};
  }
  OpState& owner = stack_.back().state;
  RegionCall call = std::move(*owner.pending);
  owner.pending.reset();
  call.results = std::move(types);
  call.function = made;
  owner.regionCalls.push_back(std::move(call));
  return {};
}

Result<InferredModule> inferTypes(const Module& module, const InferOptions& options) {
  if (!module.context) return makeError(DiagnosticId::invalidIr, "the module has no context");
  DYN_TRY(Module separated, separateSymbols(module));
  DYN_TRY(std::vector<const Function*> order, calleesFirst(separated));
  int64_t maxSteps = options.maxSteps;
  if (maxSteps == 0) maxSteps = 10'000'000 + 100 * operationCount(separated);
  InferDriver driver(separated, *module.context, maxSteps);
  for (const Function* function : order) {
    Status inferred = driver.inferFunction(function);
    if (!inferred.ok() && options.needs) *options.needs = driver.needs();
    DYN_CHECK(std::move(inferred));
  }
  DYN_CHECK(driver.publishFacts());
  return driver.takeResult();
}

Status learnCheck(const Op& check, DimSolver* solver) {
  const Reason reason{std::string(kCheckReason) + check.attributes.string("what"), check.place};
  return learnFromCheck(solver, check.attributes.string("relation"), check.attributes.dims("lhs").at(0),
                        check.attributes.dims("rhs").at(0), reason);
}

}  // namespace dyn
