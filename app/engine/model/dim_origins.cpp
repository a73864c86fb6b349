#include "app/engine/model/dim_origins.h"

#include <set>

#include "compiler/infer/infer.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

using Kind = DimPlace::Kind;

// How much of the operands gets symbols of its own. `everything`: constant dims too, for results of constant
// size.
enum Attempt : int { everything, symbolic, sharedSymbolic, attemptCount };

size_t carriedCount(const Op& op) { return static_cast<size_t>(op.attributes.integer("carried")); }

}  // namespace

// The operator's answer over placeholders; without results where it refused.
struct DimOrigins::Rule {
  std::vector<ValueDef> results;
  std::vector<Contents> contents;  // by result; empty: not known
  std::vector<DimSource> sources;
};

std::string toString(const IrContext& ir, const DimPlace& place) {
  const std::string name = ir.valueName(place.value), index = std::to_string(place.index);
  return place.kind == Kind::axis ? name + "." + index : name + "[" + index + "]";
}

DimOrigins::~DimOrigins() = default;

DimOrigins::DimOrigins(const Module& typed) : module_(typed), ir_(*typed.context), uses_(typed) {
  for (const FunctionVisit& visit : functionsOf(typed))
    if (visit.owner) owners_[visit.function] = visit.owner;
  const size_t mark = ir_.facts().mark();
  Result<InferredModule> again = inferTypes(typed);
  ir_.facts().rollback(mark);
  if (again.ok()) contents_ = std::move(again->contents);
}

const Contents* DimOrigins::contentsOf(ValueId id) const {
  auto found = contents_.find(id);
  return found == contents_.end() ? nullptr : &found->second;
}

Dim DimOrigins::dimOf(const DimPlace& place) const {
  if (place.kind == Kind::element) {
    const Contents* contents = contentsOf(place.value);
    const size_t index = static_cast<size_t>(place.index);
    return contents && index < contents->size() ? (*contents)[index] : Dim();
  }
  const Type type = uses_.definition(place.value).type;
  if (!type || !type.isTensor() || place.index >= type.rank()) return Dim();
  return type.dims()[static_cast<size_t>(place.index)];
}

const DimStep& DimOrigins::step(const DimPlace& place) {
  auto found = steps_.find(place);
  if (found == steps_.end()) found = steps_.emplace(place, make(place)).first;
  return found->second;
}

std::vector<const DimStep*> DimOrigins::chain(const DimPlace& place, size_t most) {
  std::vector<const DimStep*> steps;
  std::set<DimPlace> seen = {place};
  std::vector<DimPlace> pending = {place};
  while (!pending.empty() && steps.size() < most) {
    const DimPlace at = pending.back();
    pending.pop_back();
    steps.push_back(&step(at));
    const std::vector<DimSource>& sources = steps.back()->sources;
    for (size_t i = sources.size(); i-- > 0;)
      if (seen.insert(sources[i].place).second) pending.push_back(sources[i].place);
  }
  return steps;
}

std::string DimOrigins::toString(const DimStep& step) const {
  std::string text = dyn::toString(ir_, step.place);
  if (step.sources.empty()) {
    if (step.dim) text += " = " + step.dim.toString();
    return text + ": " + step.origin;
  }
  std::map<SymbolId, DimPlace> places;
  for (const DimSource& source : step.sources) places.emplace(source.placeholder.symbol(), source.place);
  // The rule with the places written for the placeholders.
  std::string rule = step.rule.toString();
  for (auto& [symbol, place] : places) {
    const std::string name = ir_.dims().symbolName(symbol), written = dyn::toString(ir_, place);
    for (size_t at = rule.find(name); at != std::string::npos; at = rule.find(name, at)) {
      const size_t end = at + name.size();
      const bool whole = end == rule.size() || !std::isdigit(static_cast<unsigned char>(rule[end]));
      if (whole) rule.replace(at, name.size(), written);
      at += whole ? written.size() : name.size();
    }
  }
  text += " = " + rule + " (" + step.by;
  if (step.op && step.op->place.known())
    text +=
        step.op->place.node.empty() ? " at " + step.op->place.toString() : " at node " + step.op->place.node;
  return text + ")";
}

void DimOrigins::link(DimStep& step, const DimPlace& source, std::string by) const {
  const Dim placeholder = ir_.dims().any("a place of " + ir_.valueName(source.value));
  step.rule = placeholder;
  step.sources = {{placeholder, source}};
  step.by = std::move(by);
}

// Is what the rule says, with the sources' own dims, what the type says? Collects the facts that make it so.
bool DimOrigins::fits(DimStep& step) const {
  if (!step.dim || !step.rule) return false;
  bool known = true;
  const Dim said = substitute(step.rule, [&](SymbolId symbol) {
    for (const DimSource& source : step.sources)
      if (source.placeholder.symbol() == symbol) {
        const Dim dim = dimOf(source.place);
        known = known && dim;
        return dim;
      }
    return Dim();
  });
  if (!known) return false;
  if (said == step.dim) return true;
  if (ir_.facts().equal(said, step.dim) != Answer::yes) return false;
  step.facts = ir_.facts().explainEqual(said, step.dim);
  return true;
}

DimStep DimOrigins::make(const DimPlace& place) {
  DimStep step;
  step.place = place;
  step.dim = dimOf(place);
  const Definition& at = uses_.definition(place.value);
  step.op = at.op;
  if (!at.op) {
    ofParameter(at, step);
    return step;
  }
  if (at.op->def == &ops::constantOp) {
    step.origin = "a constant of the model";
    return step;
  }
  if (!at.op->regions.empty()) {
    ofBodies(*at.op, at.index, step);
  } else if (!ofRule(*at.op, at.index, step)) {
    ofSameDim(*at.op, step);
  }
  if (step.sources.empty() && step.origin.empty()) end(step, at.op);
  return step;
}

void DimOrigins::end(DimStep& step, const Op* op) const {
  const std::string name = op ? std::string(op->def->name) : "the program";
  if (!step.dim) {
    step.origin = "an element that " + name + " computes";
  } else if (step.dim.isConstant()) {
    step.origin = "by the rule of " + name + ", whatever its operands' sizes are";
  } else {
    for (SymbolId symbol : symbolsOf(step.dim)) {
      const std::string reason = ir_.dims().symbolReason(symbol);
      if (step.origin.find(reason) == std::string::npos)
        step.origin += (step.origin.empty() ? "" : "; ") + reason;
    }
  }
}

void DimOrigins::ofParameter(const Definition& at, DimStep& step) {
  const std::string axis = step.place.kind == Kind::axis ? "axis " : "element ";
  const std::string index = std::to_string(step.place.index);
  if (at.function == module_.main()) {
    step.origin = axis + index + " of input " + ir_.valueName(step.place.value);
    return;
  }
  const auto owner = owners_.find(at.function);
  if (owner == owners_.end()) {
    step.origin = axis + index + " of parameter %" + ir_.valueName(step.place.value) + " of @" +
                  (at.function ? at.function->name : "");
    return;
  }
  const Op& op = *owner->second;
  step.op = &op;
  // loop: (iteration, carried..., captures...) from (count, condition, carried..., captures...); if: captures
  // behind the condition.
  std::optional<size_t> operand;
  if (op.def == &ops::loopOp && at.index > 0) operand = at.index + 1;
  if (op.def == &ops::ifOp) operand = at.index + 1;
  if (operand && *operand < op.operands.size() && op.operands[*operand] != kNoValue) {
    const bool carries = op.def == &ops::loopOp && at.index <= carriedCount(op);
    link(step, {step.place.kind, op.operands[*operand], step.place.index},
         carries ? "carried by the loop, in every iteration the same" : "captured by the body");
    if (fits(step)) return;
    step.sources.clear();
    step.rule = Dim();
    if (carries) step.origin = "carried by the loop, and not the same in every iteration";
  }
  // A field of a data value, or a size that the loop changes.
  if (step.origin.empty() && !ofSameDim(op, step)) end(step, &op);
}

void DimOrigins::ofBodies(const Op& op, uint32_t result, DimStep& step) {
  auto from = [&](size_t region, size_t k, int64_t axisShift) {
    if (region >= op.regions.size() || k >= op.regions[region]->results.size()) return false;
    link(step, {step.place.kind, op.regions[region]->results[k], step.place.index - axisShift},
         "made by the body of " + std::string(op.def->name));
    if (fits(step)) return true;
    step.sources.clear();
    step.rule = Dim();
    return false;
  };
  if (op.def == &ops::loopOp) {
    const size_t carried = carriedCount(op);
    if (result < carried) {
      if (result + 2 < op.operands.size() && op.operands[result + 2] != kNoValue) {
        link(step, {step.place.kind, op.operands[result + 2], step.place.index},
             "carried through the loop unchanged");
        if (fits(step)) return;
        step.sources.clear();
        step.rule = Dim();
      }
      (void)from(0, 1 + result, 0);
    } else if (step.place.kind == Kind::axis && step.place.index > 0) {
      (void)from(0, 1 + result, 1);
    } else if (step.place.kind == Kind::axis && op.operands[0] != kNoValue) {
      link(step, {Kind::element, op.operands[0], 0}, "one slice for each iteration");
      if (fits(step)) return;
      step.sources.clear();
      step.rule = Dim();
    }
    return;
  }
  // All branches give the same size.
  std::vector<DimSource> all;
  for (size_t region = 0; region < op.regions.size(); ++region) {
    if (!from(region, result, 0)) return;
    all.insert(all.end(), step.sources.begin(), step.sources.end());
  }
  step.sources = std::move(all);
}

bool DimOrigins::ofSameDim(const Op& op, DimStep& step) {
  if (!step.dim || step.dim.isConstant()) return false;
  for (ValueId operand : op.operands) {
    if (operand == kNoValue) continue;
    const Type type = uses_.definition(operand).type;
    if (type && type.isTensor())
      for (int axis = 0; axis < type.rank(); ++axis)
        if (type.dims()[static_cast<size_t>(axis)] == step.dim) {
          link(step, {Kind::axis, operand, axis}, "through " + std::string(op.def->name));
          return true;
        }
    if (const Contents* contents = contentsOf(operand))
      for (size_t i = 0; i < contents->size(); ++i)
        if ((*contents)[i] && (*contents)[i] == step.dim) {
          link(step, {Kind::element, operand, static_cast<int64_t>(i)},
               "through " + std::string(op.def->name));
          return true;
        }
  }
  return false;
}

bool DimOrigins::ofRule(const Op& op, uint32_t result, DimStep& step) {
  const bool constant = step.dim && step.dim.isConstant();
  std::optional<DimStep> general;
  for (int attempt = constant ? everything : symbolic; attempt < attemptCount; ++attempt) {
    const Rule& rule = ruleOf(op, attempt);
    if (result >= rule.results.size()) continue;
    const size_t index = static_cast<size_t>(step.place.index);
    Dim said;
    if (step.place.kind == Kind::axis) {
      const Type type = rule.results[result].type;
      if (type && type.isTensor() && index < type.dims().size()) said = type.dims()[index];
    } else if (index < rule.contents[result].size()) {
      said = rule.contents[result][index];
    }
    if (!said) continue;
    step.rule = said;
    step.by = "rule of " + std::string(op.def->name);
    bool onlyPlaces = true;
    for (SymbolId symbol : symbolsOf(said)) {
      bool place = false;
      for (const DimSource& source : rule.sources)
        if (source.placeholder.symbol() == symbol) {
          step.sources.push_back(source);
          place = true;
        }
      onlyPlaces = onlyPlaces && place;
    }
    // A symbol that the rule made is a size that depends on values, and the type has another of its kind:
    // nothing to compare.
    if (onlyPlaces && !step.sources.empty() && fits(step)) {
      if (said.isSymbol()) return true;
      if (!general) general = step;  // another way may say it in fewer words
    }
    const bool ends = onlyPlaces && step.sources.empty() && constant && said == step.dim;
    step.sources.clear();
    step.rule = Dim();
    step.by.clear();
    if (ends) break;
  }
  if (!general) return false;
  step = *std::move(general);
  return true;
}

// The operation alone, between parameters with placeholders for dims and values with placeholders for
// elements.
const DimOrigins::Rule& DimOrigins::ruleOf(const Op& op, int attempt) {
  std::unique_ptr<Rule>& made = rules_[{&op, attempt}];
  if (made) return *made;
  made = std::make_unique<Rule>();
  Rule& rule = *made;
  std::map<uint32_t, Dim> shared;
  auto placeholder = [&](Dim dim, const DimPlace& place) {
    if (dim.isConstant() && (attempt != everything || place.kind == Kind::element)) return dim;
    if (attempt == sharedSymbolic)
      if (auto found = shared.find(dim.id()); found != shared.end()) return found->second;
    const Dim fresh = ir_.dims().any("a place of " + ir_.valueName(place.value));
    shared.emplace(dim.id(), fresh);
    rule.sources.push_back({fresh, place});
    return fresh;
  };
  Function main;
  main.name = "main";
  Op alone = op;
  std::map<ValueId, ValueId> standIns;
  for (ValueId& operand : alone.operands) {
    if (operand == kNoValue) continue;
    if (auto known = standIns.find(operand); known != standIns.end()) {
      operand = known->second;
      continue;
    }
    const Definition& from = uses_.definition(operand);
    if (!from.type) return rule;
    const ValueId id = ir_.newValue();
    standIns[operand] = id;
    const Contents* contents = contentsOf(operand);
    const bool whole = contents && from.type.isTensor() && from.type.rank() <= 1 &&
                       std::all_of(contents->begin(), contents->end(), [](Dim d) { return bool(d); });
    const bool constant = from.op && from.op->def == &ops::constantOp;
    if (constant && (whole || attempt != everything)) {
      Op copy = *from.op;
      copy.results[0].id = id;
      main.ops.push_back(ir_.own(std::move(copy)));
    } else if (whole && from.type.dtype() == Dtype::i64) {
      Op known;
      known.def = from.type.rank() == 1 ? &ops::dims_valueOp : &ops::dim_valueOp;
      Shape elements;
      for (size_t i = 0; i < contents->size(); ++i)
        elements.push_back(placeholder((*contents)[i], {Kind::element, operand, static_cast<int64_t>(i)}));
      known.attributes = {{"value", elements}};
      known.results = {{id, Type()}};
      main.ops.push_back(ir_.own(std::move(known)));
    } else if (from.type.isTensor()) {
      Shape dims;
      for (int axis = 0; axis < from.type.rank(); ++axis)
        dims.push_back(placeholder(from.type.dims()[static_cast<size_t>(axis)], {Kind::axis, operand, axis}));
      main.parameters.push_back({id, ir_.tensorType(std::move(dims), from.type.dtype())});
    } else {
      main.parameters.push_back({id, from.type});
    }
    operand = id;
  }
  // The symbols of elements are defined by a parameter whose shape they are.
  Shape elements;
  for (const DimSource& source : rule.sources)
    if (source.place.kind == Kind::element) elements.push_back(source.placeholder);
  if (!elements.empty()) main.parameters.push_back({ir_.newValue(), ir_.tensorType(elements, Dtype::f32)});
  for (ValueDef& result : alone.results) {
    if (result.id != kNoValue) result.id = ir_.newValue();
    result.type = Type();
    main.results.push_back(result.id);
    main.resultTypes.push_back(Type());
  }
  const std::vector<ValueDef> results = alone.results;
  main.ops.push_back(ir_.own(std::move(alone)));
  Module module = module_;
  std::vector<const Function*> functions = {ir_.own(std::move(main))};
  for (const Function* function : module_.functions)
    if (function != module_.main()) functions.push_back(function);
  module.functions = std::move(functions);
  const size_t mark = ir_.facts().mark();
  Result<InferredModule> inferred = inferTypes(module);
  ir_.facts().rollback(mark);
  if (!inferred.ok()) return rule;
  const Uses uses(inferred->module);
  for (const ValueDef& result : results) {
    rule.results.push_back({result.id, result.id == kNoValue ? Type() : uses.definition(result.id).type});
    auto contents = inferred->contents.find(result.id);
    rule.contents.push_back(contents == inferred->contents.end() ? Contents() : contents->second);
  }
  return rule;
}

}  // namespace dyn
