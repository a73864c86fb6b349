#include "app/session/answers/dim_views.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "app/engine/model/dim_origins.h"
#include "app/engine/model/loaded_model.h"
#include "app/engine/model/model_info.h"
#include "app/session/answers/run_checks.h"
#include "app/session/answers/size_titles.h"
#include "app/session/answers/why_tree.h"
#include "app/session/explain/dim_guards.h"
#include "app/session/graph/node_ids.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/why_views.h"
#include "compiler/dims/ragged_dim.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

constexpr size_t kUsesShown = 5;

// Symbols of the module, in order of creation, with the values whose types have them.
struct SymbolUses {
  std::map<SymbolId, std::vector<std::string>> uses;  // the first few
  std::map<SymbolId, int64_t> counts;

  explicit SymbolUses(const Module& module) {
    for (const FunctionVisit& visit : functionsOf(module)) {
      for (const Parameter& p : visit.function->parameters) note(module, p.id, p.type);
      for (const Op* op : visit.function->ops)
        for (const ValueDef& r : op->results) note(module, r.id, r.type);
    }
  }

  void note(const Module& module, ValueId value, Type type) {
    if (!type) return;
    if (!type.isTensor()) {
      for (SymbolId s : symbolsOf(type)) add(s, module, value, "");
      return;
    }
    for (int axis = 0; axis < type.rank(); ++axis)
      for (SymbolId s : symbolsOf(type.dims()[static_cast<size_t>(axis)]))
        add(s, module, value, "." + std::to_string(axis));
  }

  void add(SymbolId symbol, const Module& module, ValueId value, const std::string& suffix) {
    ++counts[symbol];
    std::vector<std::string>& list = uses[symbol];
    if (list.size() < kUsesShown) list.push_back(module.context->valueName(value) + suffix);
  }
};

bool isNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '?';
}

using Ports = std::vector<std::pair<std::string, ValueId>>;

// What a question names: a dim, and of a value's the place.
struct Asked {
  Dim dim;
  std::optional<DimPlace> place;
};

// A value's name stands where a dim's is wanted: its axes are asked by number.
Error noSymbol(const Module& module, const Ports& ports, std::string name) {
  Error error = makeError(DiagnosticId::textName, "there is no symbol '" + name + "'");
  if (!name.empty() && name.back() == '.') name.pop_back();
  ValueId value = module.context->findValue(name);
  for (const auto& [port, id] : ports)
    if (port == name) value = id;
  const Type type = value == kNoValue ? Type() : Uses(module).definition(value).type;
  if (!type || !type.isTensor()) return std::move(error).note(":dims lists all");
  if (type.rank() == 0) return std::move(error).note(name + " is a value without axes");
  return std::move(error).note(
      name + " is a value of type " + type.toString() + ": ask for one of its axes, " + name + ".0" +
      (type.rank() > 1 ? " to " + name + "." + std::to_string(type.rank() - 1) : ""));
}

// "value.1", "seq", "2*seq+1"
Result<Asked> asked(const Module& module, const Ports& ports, const std::string& text) {
  IrContext& ir = *module.context;
  if (ir.dims().hasSymbol(text)) return Asked{ir.dims().symbol(text), {}};  // its name may hold a dot
  const size_t dot = text.rfind('.');
  if (dot != std::string::npos && dot + 1 < text.size() &&
      text.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
    std::string name = text.substr(0, dot);
    if (!name.empty() && name[0] == '%') name = name.substr(1);
    const size_t axis = std::stoul(text.substr(dot + 1, 6));
    ValueId value = ir.findValue(name);
    for (const auto& [port, id] : ports)
      if (port == name) value = id;
    const Type type = value == kNoValue ? Type() : Uses(module).definition(value).type;
    if (!type) {
      std::vector<std::string> names;
      for (const FunctionVisit& visit : functionsOf(module)) {
        for (const Parameter& p : visit.function->parameters) names.push_back(ir.valueName(p.id));
        for (const Op* op : visit.function->ops)
          for (const ValueDef& r : op->results) names.push_back(ir.valueName(r.id));
      }
      std::vector<std::string_view> views(names.begin(), names.end());
      const std::string near = suggestion(name, views);
      Error error = makeError(DiagnosticId::textName, "there is no value '" + name + "'");
      return std::move(error).note(near.empty() ? ":info lists the inputs and outputs, :ir all values"
                                                : "did you mean " + near + "?");
    }
    if (!type.isTensor())
      return makeError(DiagnosticId::typeMismatch, name + " is not a tensor but " + type.toString());
    if (axis >= static_cast<size_t>(type.rank()))
      return makeError(DiagnosticId::rankMismatch,
                       name + " has rank " + std::to_string(type.rank()) + ": " + type.toString());
    return Asked{type.dims()[axis], DimPlace{DimPlace::Kind::axis, value, static_cast<int64_t>(axis)}};
  }
  // Parsing makes the symbols it meets: names are looked up before.
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && isNameChar(text[end])) ++end;
    const std::string name = text.substr(at, end - at);
    const bool function = end < text.size() && text[end] == '(';
    if (!name.empty() && name[0] != '?' && !std::isdigit(static_cast<unsigned char>(name[0])) && !function &&
        !ir.dims().hasSymbol(name))
      return noSymbol(module, ports, name);
    at = std::max(end, at + 1);
  }
  DYN_TRY(Dim dim, parseDim(ir.dims(), text));
  return Asked{dim, {}};
}

// Of a node its name is enough: the file is the model's.
std::string shortPlace(const SourceLocation& place) {
  return place.node.empty() ? place.toString() : "node " + place.node;
}

// "X = X": true of whatever X is; the solver keeps such facts as the trace of a rule.
bool saysNothing(const Fact& fact) {
  return (fact.kind == FactKind::equal || fact.kind == FactKind::equalProduct) && fact.a == fact.b;
}

std::string factText(const Fact& fact) {
  std::string text = fact.toString();
  const SourceLocation& place = fact.reason.place;
  if (place.known() && text.find(place.toString()) == std::string::npos) text += " at " + shortPlace(place);
  return text;
}

void addOnce(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

void describe(const Module& module, const SymbolUses& uses, Dim dim, WhyView& view) {
  IrContext& ir = *module.context;
  for (SymbolId symbol : symbolsOf(dim)) {
    const std::string name = ir.dims().symbolName(symbol);
    view.lines.push_back(name + ": " + ir.dims().symbolReason(symbol));
    for (const Fact& fact : ir.facts().factsAbout(symbol)) {
      if (saysNothing(fact)) continue;
      const std::string text = factText(fact);
      if (std::find(view.facts.begin(), view.facts.end(), text) == view.facts.end())
        addOnce(view.known, text);
    }
    auto found = uses.uses.find(symbol);
    if (found == uses.uses.end()) continue;
    std::string list;
    for (const std::string& use : found->second) list += (list.empty() ? "" : ", ") + use;
    const int64_t count = uses.counts.at(symbol);
    if (count > static_cast<int64_t>(found->second.size()))
      list += ", ... (" + std::to_string(count) + " in all)";
    view.lines.push_back("  used in " + list);
  }
}

std::string shownText(const RunCheck& check) {
  std::string text = (check.name.empty() ? "" : check.name + ": ") + check.text();
  if (check.op->place.known()) text += " at " + shortPlace(check.op->place);
  return text;
}

void describeChecks(ScratchCopy& program, const std::set<SymbolId>& symbols, WhyView& view) {
  for (const RunCheck& check : allChecksOf(program))
    for (Dim dim : {check.lhs, check.rhs})
      for (SymbolId s : symbolsOf(dim))
        if (symbols.count(s)) addOnce(view.checks, shownText(check));
}

void addChain(const Module& module, DimOrigins& origins, const DimPlace& place, WhyView& view) {
  for (WhyStep& step : whyTree(*module.context, origins, place)) {
    const size_t before = view.chain.size();
    addOnce(view.chain, toString(step));
    if (view.chain.size() > before) view.tree.push_back(std::move(step));
  }
}

// Values of the symbols under which a and b differ, and the inputs' shapes then.
void addCounterexample(const Module& module, const Ports& ports, const DimSolver& solver, Dim a, Dim b,
                       WhyView& view) {
  const auto example = solver.counterexampleEqual(a, b);
  if (!example) return;
  for (const auto& [symbol, value] : *example)
    view.counterexample[module.context->dims().symbolName(symbol)] = value;
  view.shapes = inputShapes(module, ports, solver, *example);
}

// A check by its name.
WhyView whyCheck(ScratchCopy& program, const Ports& ports, const SymbolUses& uses, const RunCheck& check) {
  const Module& module = program.module;
  WhyView view;
  view.question = "why " + check.name + "?";
  view.answer = shownText(check).substr(check.name.size() + 2);
  // What the solver would know without it.
  const std::string reason = std::string(kCheckReason) + check.what;
  const std::unique_ptr<DimSolver> without = solverWithout(module.context->facts(), [&](const Fact& fact) {
    return fact.reason.text == reason && fact.reason.place.toString() == check.op->place.toString();
  });
  if (check.demands)
    view.lines.push_back("demanded by " + std::string(check.demands->def->name) +
                         (check.demands->results.empty()
                              ? ""
                              : ", which makes " + module.context->valueName(check.demands->results[0].id)));
  view.lines.push_back("nothing known before proves it");
  const Uses definitions(module);
  for (Dim side : {check.lhs, check.rhs}) {
    if (!check.demands) continue;
    for (ValueId operand : check.demands->operands) {
      const Type type = operand == kNoValue ? Type() : definitions.definition(operand).type;
      if (!type || !type.isTensor()) continue;
      for (int axis = 0; axis < type.rank(); ++axis)
        if (type.dims()[static_cast<size_t>(axis)] == side)
          addChain(module, program.origins(), {DimPlace::Kind::axis, operand, axis}, view);
    }
  }
  addCounterexample(module, ports, *without, check.lhs, check.rhs, view);
  for (const Fact& fact : module.context->facts().facts())
    if (fact.reason.text == reason && !saysNothing(fact)) addOnce(view.known, factText(fact));
  describe(module, uses, check.lhs + check.rhs, view);
  return view;
}

Error noSymbol(const std::string& symbol, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = suggestion(symbol, views);
  return makeError(DiagnosticId::textName, "there is no symbol '" + symbol + "'")
      .note(near.empty() ? ":dims lists all" : "did you mean " + near + "?");
}

// "dim 1 of input ids"; "" of what stands in no input alone.
std::string axisOfInput(const Signature& signature, const std::string& dim) {
  for (const Port& input : signature.inputs)
    for (size_t axis = 0; axis < input.info.shape.size(); ++axis)
      if (input.info.shape[axis] == dim)
        return "dim " + std::to_string(axis) + " of input " + input.info.name;
  return "";
}

// Is the dim in the expression?
bool isOfDim(const std::string& text, const std::string& dim) {
  DimContext dims;
  const Result<Dim> parsed = parseDim(dims, text);
  if (!parsed.ok()) return false;
  const std::vector<SymbolId> symbols = symbolsOf(*parsed);
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return dims.symbolName(s) == dim; });
}

}  // namespace

Result<DimsTable> dimsTable(const Module& module, ScratchCopy& copy, const std::string& symbol) {
  DimsTable table;
  IrContext& ir = *module.context;
  const SymbolUses uses(module);
  std::vector<std::string> names;
  for (SymbolId id = 0; id < ir.dims().symbolCount(); ++id) {
    auto used = uses.counts.find(id);
    const std::vector<Fact> facts = ir.facts().factsAbout(id);
    if (used == uses.counts.end() && (facts.empty() || ir.dims().isAnonymous(id))) continue;
    DimRow row;
    row.symbol = ir.dims().symbolName(id);
    names.push_back(row.symbol);
    if (!symbol.empty() && row.symbol != symbol) continue;
    row.origin = ir.dims().symbolReason(id);
    if (ir.dims().isAnonymous(id)) row.title = sizeTitle(row.origin);
    const Interval interval = ir.facts().interval(ir.dims().symbolById(id));
    row.low = interval.low;
    row.high = interval.high;
    for (const Fact& fact : facts) {
      if (saysNothing(fact)) continue;
      const bool observed = fact.reason.text == kObservedReason;
      if (observed && !row.facts.empty() && row.facts.back().find(kObservedReason) != std::string::npos)
        row.facts.pop_back();
      row.facts.push_back(fact.toString());
      if (fact.kind == FactKind::multipleOf && fact.a == ir.dims().symbolById(id))
        row.multiple = fact.multiple;
      if (fact.kind == FactKind::likely) row.likely = fact.likely;
    }
    if (used != uses.counts.end()) {
      row.usesCount = used->second;
      row.uses = uses.uses.at(id);
    }
    table.rows.push_back(std::move(row));
  }
  for (const RunCheck& check : allChecksOf(copy)) table.checks.push_back(shownText(check));
  if (!symbol.empty() && table.rows.empty()) return noSymbol(symbol, names);
  return table;
}

Result<DimsTable> dimsOfPackage(const Signature& signature, const std::string& symbol) {
  DimsTable table;
  const std::vector<std::string> names = CallDims(signature).names();
  const DimSolver& facts = signature.facts->facts;
  for (const std::string& name : names) {
    if (!symbol.empty() && name != symbol) continue;
    DimRow row;
    row.symbol = name;
    row.origin = axisOfInput(signature, name);
    row.low = 0;
    if (facts.context().hasSymbol(name)) {
      const Dim dim = facts.context().symbol(name);
      const Interval interval = facts.interval(dim);
      row.low = interval.low;
      row.high = interval.high;
      for (const Fact& fact : facts.factsAbout(dim.symbol())) {
        row.facts.push_back(fact.toString());
        if (fact.kind == FactKind::multipleOf && fact.a == dim) row.multiple = fact.multiple;
      }
    }
    for (const std::vector<Port>* ports : {&signature.inputs, &signature.outputs})
      for (const Port& port : *ports)
        for (size_t axis = 0; axis < port.info.shape.size(); ++axis)
          if (isOfDim(port.info.shape[axis], name))
            row.uses.push_back(port.info.name + "." + std::to_string(axis));
    row.usesCount = static_cast<int64_t>(row.uses.size());
    table.rows.push_back(std::move(row));
  }
  if (!symbol.empty() && table.rows.empty()) return noSymbol(symbol, names);
  return table;
}

std::vector<CheckRow> checkRows(const Module& module, const DimValues& dims) {
  DimContext& context = module.context->dims();
  DimBinding binding;
  for (SymbolId s = 0; s < context.symbolCount(); ++s)
    if (const auto found = dims.find(context.symbolName(s)); found != dims.end())
      binding.set(s, found->second);
  const auto valueOf = [&](Dim dim) -> std::optional<int64_t> {
    Result<int64_t> value = evaluate(dim, binding);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  };
  std::vector<CheckRow> rows;
  for (const RunCheck& check : runChecksOf(module)) {
    CheckRow row;
    row.name = check.name;
    row.text = shownText(check).substr(check.name.size() + 2);
    row.left = valueOf(check.lhs);
    row.right = valueOf(check.rhs);
    if (row.left && row.right) row.fails = failsFor(check, *row.left, *row.right);
    if (check.demands && !check.demands->results.empty())
      row.node = NodeIds::ofValue(check.demands->results[0].id);
    rows.push_back(std::move(row));
  }
  std::stable_partition(rows.begin(), rows.end(), [](const CheckRow& row) { return row.fails; });
  return rows;
}

std::vector<RangeFault> rangeFaults(const Module& module, const DimValues& dims, RangesOf ranges) {
  std::vector<RangeFault> faults;
  IrContext& ir = *module.context;
  for (const auto& [name, value] : dims) {
    if (!ir.dims().hasSymbol(name)) continue;
    const Dim dim = ir.dims().symbol(name);
    const Interval range = ir.facts().interval(dim);
    std::string text;
    const auto add = [&](const std::string& bound, const std::vector<Fact>& why) {
      if (ranges == RangesOf::declared && std::any_of(why.begin(), why.end(), isOfCheck)) return;
      text = name + bound;
      if (why.empty()) return;
      const Reason& reason = why.front().reason;
      text += ": " + reason.text + (reason.place.known() ? " at " + shortPlace(reason.place) : "");
    };
    const auto number = [&](int64_t bound) { return ir.dims().constant(bound); };
    if (range.low && value < *range.low)
      add(" is at least " + std::to_string(*range.low), ir.facts().explainLessEqual(number(*range.low), dim));
    if (range.high && value > *range.high)
      add(" is at most " + std::to_string(*range.high),
          ir.facts().explainLessEqual(dim, number(*range.high)));
    for (const Fact& fact : ir.facts().factsAbout(dim.symbol()))
      if (fact.kind == FactKind::multipleOf && fact.a == dim && fact.multiple > 1 &&
          value % fact.multiple != 0)
        text = name + " is a multiple of " + std::to_string(fact.multiple);
    if (!text.empty()) faults.push_back({name, text});
  }
  return faults;
}

Result<WhyView> whyDim(ScratchCopy& program, const Ports& ports, const std::string& a, const std::string& b) {
  const Module& module = program.module;
  IrContext& ir = *module.context;
  const DimSolver& facts = ir.facts();
  const SymbolUses uses(module);
  if (b.empty() && !ir.dims().hasSymbol(a))
    for (const RunCheck& check : runChecksOf(module))
      if (check.name == a) return whyCheck(program, ports, uses, check);
  WhyView view;
  std::set<SymbolId> symbols;
  DYN_TRY(Asked left, asked(module, ports, a));
  for (SymbolId s : symbolsOf(left.dim)) symbols.insert(s);
  if (left.place) addChain(module, program.origins(), *left.place, view);
  if (b.empty()) {
    view.question = "what is " + a + "?";
    view.answer = left.dim.toString();
    const Dim canonical = facts.canonical(left.dim);
    if (canonical != left.dim) {
      view.lines.push_back("which is provably " + canonical.toString());
      for (const Fact& fact : facts.explainEqual(left.dim, canonical)) view.facts.push_back(factText(fact));
    }
    if (left.dim.isConstant()) view.lines.push_back("a constant");
    describe(module, uses, left.dim, view);
    const Interval interval = facts.interval(left.dim);
    view.lines.push_back("range: " + (interval.low ? std::to_string(*interval.low) : "-inf") + ".." +
                         (interval.high ? std::to_string(*interval.high) : ""));
  } else {
    DYN_TRY(Asked right, asked(module, ports, b));
    if (right.place) addChain(module, program.origins(), *right.place, view);
    for (SymbolId s : symbolsOf(right.dim)) symbols.insert(s);
    view.question = "is " + a + " = " + b + "?";
    const Answer answer = facts.equal(left.dim, right.dim);
    view.answer = toString(answer);
    view.lines.push_back(a + " is " + left.dim.toString());
    view.lines.push_back(b + " is " + right.dim.toString());
    if (left.dim == right.dim) view.lines.push_back("the same expression: nothing needs to be known");
    for (const Fact& fact : facts.explainEqual(left.dim, right.dim)) view.facts.push_back(factText(fact));
    if (answer != Answer::yes) {
      addCounterexample(module, ports, facts, left.dim, right.dim, view);
      if (answer == Answer::no) {
        view.lines.push_back("no guard can make them equal: they differ for all sizes");
      } else if (!mayBeEqual(facts.canonical(left.dim), facts.canonical(right.dim))) {
        view.lines.push_back("no guard makes them equal: a length of each sequence equals itself alone");
      } else {
        const Guards guards = guardsFor(facts, left.dim, right.dim);
        view.guard = guards.cheapest;
        if (guards.weakest != guards.cheapest) view.weakestGuard = guards.weakest;
      }
    }
    describe(module, uses, left.dim, view);
    if (left.dim != right.dim) describe(module, uses, right.dim, view);
  }
  describeChecks(program, symbols, view);
  return view;
}

}  // namespace dyn
