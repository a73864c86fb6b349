#include "app/session/dim_views.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
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

// "value.1", "seq", "2*seq+1"
Result<Dim> dimOf(const Module& module, const std::vector<std::pair<std::string, Type>>& ports,
                  const std::string& text) {
  IrContext& ir = *module.context;
  const size_t dot = text.rfind('.');
  if (dot != std::string::npos && dot + 1 < text.size() &&
      text.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
    std::string name = text.substr(0, dot);
    if (!name.empty() && name[0] == '%') name = name.substr(1);
    const size_t axis = std::stoul(text.substr(dot + 1, 6));
    Type type;
    for (const auto& [port, portType] : ports)
      if (port == name) type = portType;
    const ValueId value = ir.findValue(name);
    if (!type && value != kNoValue) type = Uses(module).definition(value).type;
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
      return makeError(DiagnosticId::typeMismatch, name + " is no tensor but " + type.toString());
    if (axis >= static_cast<size_t>(type.rank()))
      return makeError(DiagnosticId::rankMismatch,
                       name + " has rank " + std::to_string(type.rank()) + ": " + type.toString());
    return type.dims()[axis];
  }
  // Parsing makes the symbols it meets: names are looked up before.
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && isNameChar(text[end])) ++end;
    const std::string name = text.substr(at, end - at);
    const bool function = end < text.size() && text[end] == '(';
    if (!name.empty() && name[0] != '?' && !std::isdigit(static_cast<unsigned char>(name[0])) && !function &&
        !ir.dims().hasSymbol(name))
      return makeError(DiagnosticId::textName, "there is no symbol '" + name + "'").note(":dims lists all");
    at = std::max(end, at + 1);
  }
  return parseDim(ir.dims(), text);
}

// Of a node its name is enough: the file is the model's.
std::string shortPlace(const SourcePlace& place) {
  return place.node.empty() ? place.toString() : "node " + place.node;
}

// "X = X": true of whatever X is; the solver keeps such facts as the trace of a rule.
bool saysNothing(const Fact& fact) {
  return (fact.kind == FactKind::equal || fact.kind == FactKind::equalProduct) && fact.a == fact.b;
}

std::string factText(const Fact& fact) {
  std::string text = fact.toString();
  const SourcePlace& place = fact.reason.place;
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

void describeChecks(const Module& module, const std::set<SymbolId>& symbols, WhyView& view) {
  forEachOp(module, [&](const Function&, const Op& op) {
    if (op.def != &ops::checkOp) return;
    for (const char* side : {"lhs", "rhs"})
      for (Dim d : op.attributes.dims(side))
        for (SymbolId s : symbolsOf(d)) {
          if (!symbols.count(s)) continue;
          const std::string relation = op.attributes.string("relation");
          const char* sign = relation == "eq"   ? " must equal "
                             : relation == "le" ? " must be at most "
                                                : " must equal, or be 1 beside, ";
          std::string text = op.attributes.string("what");
          text += (text.empty() ? "" : ": ") + op.attributes.dims("lhs").at(0).toString() + sign +
                  op.attributes.dims("rhs").at(0).toString();
          if (op.place.known()) text += " at " + shortPlace(op.place);
          addOnce(view.checks, std::move(text));
        }
  });
}

}  // namespace

Result<DimsTable> dimsTable(const Module& module, const std::string& symbol) {
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
    const Interval interval = ir.facts().interval(ir.dims().symbolById(id));
    row.low = interval.low;
    row.high = interval.high;
    for (const Fact& fact : facts) {
      if (saysNothing(fact)) continue;
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
  if (!symbol.empty() && table.rows.empty()) {
    std::vector<std::string_view> views(names.begin(), names.end());
    const std::string near = suggestion(symbol, views);
    return makeError(DiagnosticId::textName, "there is no symbol '" + symbol + "'")
        .note(near.empty() ? ":dims lists all" : "did you mean " + near + "?");
  }
  return table;
}

Result<WhyView> whyDim(const Module& module, const std::vector<std::pair<std::string, Type>>& ports,
                       const std::string& a, const std::string& b) {
  WhyView view;
  IrContext& ir = *module.context;
  const SymbolUses uses(module);
  DYN_TRY(Dim left, dimOf(module, ports, a));
  std::set<SymbolId> symbols;
  for (SymbolId s : symbolsOf(left)) symbols.insert(s);
  if (b.empty()) {
    view.question = "what is " + a + "?";
    view.answer = left.toString();
    const Dim canonical = ir.facts().canonical(left);
    if (canonical != left) {
      view.lines.push_back("which is provably " + canonical.toString());
      for (const Fact& fact : ir.facts().explainEqual(left, canonical)) view.facts.push_back(factText(fact));
    }
    if (left.isConstant()) view.lines.push_back("a constant");
    describe(module, uses, left, view);
    const Interval interval = ir.facts().interval(left);
    view.lines.push_back("range: " + (interval.low ? std::to_string(*interval.low) : "-inf") + ".." +
                         (interval.high ? std::to_string(*interval.high) : ""));
  } else {
    DYN_TRY(Dim right, dimOf(module, ports, b));
    for (SymbolId s : symbolsOf(right)) symbols.insert(s);
    view.question = "is " + a + " = " + b + "?";
    const DimSolver& facts = ir.facts();
    view.answer = toString(facts.equal(left, right));
    view.lines.push_back(a + " is " + left.toString());
    view.lines.push_back(b + " is " + right.toString());
    if (left == right) view.lines.push_back("the same expression: nothing needs to be known");
    for (const Fact& fact : facts.explainEqual(left, right)) view.facts.push_back(factText(fact));
    if (view.answer != "yes")
      if (auto example = facts.counterexampleEqual(left, right))
        for (auto& [symbol, value] : *example) view.counterexample[ir.dims().symbolName(symbol)] = value;
    describe(module, uses, left, view);
    if (left != right) describe(module, uses, right, view);
  }
  describeChecks(module, symbols, view);
  return view;
}

}  // namespace dyn
