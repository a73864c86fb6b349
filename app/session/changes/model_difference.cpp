#include "app/session/changes/model_difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "app/session/answers/plan_view.h"
#include "app/session/answers/run_checks.h"
#include "app/session/changes/model_match.h"
#include "compiler/ir/check_text.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/tensor_text.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

// A weight whose difference is at most this part of it is close.
constexpr double kClose = 1e-3;

using FormulaChange = ModelDifference::FormulaChange;
using WeightChange = ModelDifference::WeightChange;

bool isNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

using PortPair = std::pair<const Port*, const Port*>;

// By name, and those without one of their name by their place; those without any partner beside null.
std::vector<PortPair> portPairs(const std::vector<Port>& before, const std::vector<Port>& after) {
  std::vector<char> taken(after.size());
  std::vector<PortPair> pairs;
  std::vector<size_t> open;
  for (size_t i = 0; i < before.size(); ++i) {
    const auto found = std::find_if(after.begin(), after.end(),
                                    [&](const Port& port) { return port.info.name == before[i].info.name; });
    if (found == after.end()) {
      open.push_back(i);
    } else {
      taken[static_cast<size_t>(found - after.begin())] = 1;
      pairs.emplace_back(&before[i], &*found);
    }
  }
  for (const size_t i : open) {
    const bool hasPartner = i < after.size() && !taken[i];
    if (hasPartner) taken[i] = 1;
    pairs.emplace_back(&before[i], hasPartner ? &after[i] : nullptr);
  }
  for (size_t i = 0; i < after.size(); ++i)
    if (!taken[i]) pairs.emplace_back(nullptr, &after[i]);
  return pairs;
}

// Formulas of the first model as the second one would write them.
class FormulaNames {
 public:
  FormulaNames(LoadedModel& before, LoadedModel& after) : dims_(after.ir().dims()) {
    const Signature& first = before.signature();
    const Signature& second = after.signature();
    std::set<std::string> names, otherNames;
    for (const Port& port : first.inputs) collect(port, names);
    for (const Port& port : second.inputs) collect(port, otherNames);
    for (const auto& [port, other] : portPairs(first.inputs, second.inputs)) {
      if (!port || !other || !port->type || !port->type.isTensor() || !other->type ||
          !other->type.isTensor() || port->type.rank() != other->type.rank())
        continue;
      for (int axis = 0; axis < other->type.rank(); ++axis) {
        const Dim a = port->type.dims()[axis], b = other->type.dims()[axis];
        if (!a.isSymbol() || !b.isSymbol()) continue;
        const std::string name = a.toString(), otherName = b.toString();
        if (otherNames.count(name) == 0 && names.count(otherName) == 0 && name[0] != '?' &&
            otherName[0] != '?' && !isTarget(otherName))
          renamed_.emplace(name, otherName);
      }
    }
  }

  const std::map<std::string, std::string>& renamed() const { return renamed_; }

  // Names as in the second model; what only a run decides is `?`.
  std::string text(const std::string& numbered) const {
    const std::string formula = withoutNumbers(numbered);
    std::string text;
    for (size_t i = 0; i < formula.size();) {
      size_t end = i;
      while (end < formula.size() && isNamePart(formula[end])) ++end;
      if (end == i) {
        text += formula[i++];
        continue;
      }
      const std::string name = formula.substr(i, end - i);
      const auto found = renamed_.find(name);
      text += found == renamed_.end() ? name : found->second;
      i = end;
    }
    return text;
  }

  // Of texts of dims, as a module prints them.
  bool same(const std::string& before, const std::string& after) const {
    const std::string a = text(before);
    if (a == withoutNumbers(after)) return true;
    if (a.find('?') != std::string::npos) return false;
    const Result<Dim> first = parseDim(dims_, a), second = parseDim(dims_, after);
    return first.ok() && second.ok() && *first == *second;
  }
  bool same(Type before, Type after) const {
    if (!before || !after) return !before == !after;
    if (!before.isTensor() || !after.isTensor())
      return text(before.toString()) == withoutNumbers(after.toString());
    if (before.dtype() != after.dtype() || before.rank() != after.rank()) return false;
    for (int axis = 0; axis < before.rank(); ++axis)
      if (!same(before.dims()[axis].toString(), after.dims()[axis].toString())) return false;
    return true;
  }

 private:
  static std::string withoutNumbers(const std::string& formula) {
    std::string text;
    for (size_t i = 0; i < formula.size();) {
      text += formula[i];
      const bool unknown = formula[i++] == '?';
      while (unknown && i < formula.size() && formula[i] >= '0' && formula[i] <= '9') ++i;
    }
    return text;
  }
  static void collect(const Port& port, std::set<std::string>& names) {
    if (!port.type) return;
    for (const std::string& size : port.info.shape) names.insert(size);
  }
  bool isTarget(const std::string& name) const {
    return std::any_of(renamed_.begin(), renamed_.end(),
                       [&](const auto& entry) { return entry.second == name; });
  }

  DimContext& dims_;
  std::map<std::string, std::string> renamed_;
};

const HostTensor* constantOf(const Op& op) {
  return op.def == &ops::constantOp ? op.attributes.tensor("value") : nullptr;
}

std::string resultNameOf(const IrContext& ir, const Op& op) {
  return op.results.empty() ? "" : ir.valueName(op.results[0].id);
}

// "" when they are equal.
std::string compareWeights(const HostTensor& before, const HostTensor& after, WeightChange& change) {
  if (before.identical(after)) return "";
  if (before.dtype() != after.dtype() || before.shape() != after.shape() || !isReal(before.dtype()))
    return "different";
  double squares = 0, errors = 0;
  for (int64_t i = 0; i < before.elementCount(); ++i) {
    const double a = before.realAt(i), b = after.realAt(i), error = std::abs(a - b);
    change.maxAbs = std::max(change.maxAbs, error);
    errors += error * error;
    squares += b * b;
  }
  change.relative = squares > 0 ? std::sqrt(errors / squares) : std::sqrt(errors);
  return change.relative <= kClose ? "close" : "different";
}

class Comparison {
 public:
  Comparison(LoadedModel& before, LoadedModel& after)
      : before_(before), after_(after), names_(before, after), match_(matchModels(before, after)) {
    difference_.before = before.info().path;
    difference_.after = after.info().path;
    for (const auto& [name, other] : names_.renamed()) difference_.renamedDims.emplace_back(name, other);
  }

  ModelDifference run() {
    compareOps();
    comparePorts("input", before_.signature().inputs, after_.signature().inputs);
    comparePorts("output", before_.signature().outputs, after_.signature().outputs);
    compareInner();
    const std::string peak = planView(before_.placed(), {}).peak, other = planView(after_.placed(), {}).peak;
    addSeen("peak", "", peak, other, names_.same(peak, other));
    compareChecks();
    return std::move(difference_);
  }

 private:
  IrContext& ir() { return before_.ir(); }
  IrContext& otherIr() { return after_.ir(); }

  void addSeen(const char* of, const std::string& name, const std::string& before, const std::string& after,
               bool same) {
    if (same)
      ++difference_.sameFormulasCount;
    else
      difference_.seen.push_back({of, name, before, after});
  }

  void addAlone(const char* change, const IrContext& ir, const Op& op) {
    if (const HostTensor* tensor = constantOf(op)) {
      WeightChange weight;
      weight.change = change;
      weight.name = resultNameOf(ir, op);
      weight.type = tensorHead(*tensor);
      difference_.weights.push_back(std::move(weight));
    } else {
      difference_.ops.push_back(
          {change, std::string(op.def->name), resultNameOf(ir, op), op.place.toString(), {}});
    }
  }

  bool sameOperand(ValueId before, ValueId after) {
    if (before == kNoValue || after == kNoValue) return before == after;
    const auto found = match_.values.find(before);
    if (found != match_.values.end() && found->second == after) return true;
    const auto a = constants_.find(before), b = otherConstants_.find(after);
    return a != constants_.end() && b != otherConstants_.end() && a->second->identical(*b->second);
  }

  std::string operandText(const IrContext& ir, const Op& op, size_t index) {
    if (index >= op.operands.size() || op.operands[index] == kNoValue) return "none";
    return "%" + ir.valueName(op.operands[index]);
  }

  std::vector<std::string> changesOf(const Op& a, const Op& b) {
    std::vector<std::string> what;
    if (a.def != b.def)
      return {"operator " + std::string(a.def->name) + " becomes " + std::string(b.def->name)};
    std::set<std::string> attributes;
    for (const auto& entry : a.attributes.all()) attributes.insert(entry.first);
    for (const auto& entry : b.attributes.all()) attributes.insert(entry.first);
    for (const std::string& name : attributes) {
      const AttributeValue* x = a.attributes.find(name);
      const AttributeValue* y = b.attributes.find(name);
      const std::string before = x ? print(ir(), *x) : "none", after = y ? print(otherIr(), *y) : "none";
      if (before != after && !names_.same(before, after))
        what.push_back("attribute " + name + ": " + before + " becomes " + after);
    }
    for (size_t i = 0; i < std::max(a.operands.size(), b.operands.size()); ++i) {
      const bool both = i < a.operands.size() && i < b.operands.size();
      if (both && sameOperand(a.operands[i], b.operands[i])) continue;
      const std::string before = operandText(ir(), a, i), after = operandText(otherIr(), b, i);
      if (!both && before == after) continue;  // left out, and not there
      what.push_back("operand " + std::to_string(i) + ": " + before + " becomes " +
                     (before == after ? "another " + after : after));
    }
    return what;
  }

  void compareConstants(const Op& a, const Op& b, const HostTensor& before, const HostTensor& after) {
    WeightChange weight;
    weight.change = compareWeights(before, after, weight);
    if (weight.change.empty()) {
      ++difference_.sameWeightsCount;
      return;
    }
    weight.name = resultNameOf(ir(), a);
    weight.otherName = resultNameOf(otherIr(), b);
    weight.type = tensorHead(before);
    weight.otherType = tensorHead(after);
    difference_.weights.push_back(std::move(weight));
  }

  void compareOps() {
    const auto noteConstants = [](const Module& module, std::map<ValueId, const HostTensor*>& constants) {
      forEachOp(module, [&](const Function&, const Op& op) {
        if (const HostTensor* tensor = constantOf(op)) constants[op.results[0].id] = tensor;
      });
    };
    noteConstants(before_.imported(), constants_);
    noteConstants(after_.imported(), otherConstants_);
    for (const MatchedOps& pair : match_.ops) {
      const Op& a = *pair.before;
      const Op& b = *pair.after;
      const std::string name = resultNameOf(ir(), a), otherName = resultNameOf(otherIr(), b);
      if (!a.results.empty() && !b.results.empty() && ir().hasName(a.results[0].id) && name != otherName)
        ++difference_.renamedValuesCount;
      const HostTensor* before = constantOf(a);
      const HostTensor* after = constantOf(b);
      if (before && after) {
        compareConstants(a, b, *before, *after);
        continue;
      }
      std::vector<std::string> what = changesOf(a, b);
      if (what.empty())
        ++difference_.sameOpsCount;
      else
        difference_.ops.push_back(
            {"changed", std::string(b.def->name), otherName, b.place.toString(), std::move(what)});
    }
    for (const Op* op : match_.removed) addAlone("removed", ir(), *op);
    for (const Op* op : match_.added) addAlone("added", otherIr(), *op);
  }

  void comparePorts(const char* of, const std::vector<Port>& before, const std::vector<Port>& after) {
    const auto full = [](const Port* port) { return port ? port->info.name + ": " + port->info.type : ""; };
    for (const auto& [a, b] : portPairs(before, after)) {
      const bool named = a && b && a->info.name == b->info.name;
      if (named && !a->rankIsOpen && !b->rankIsOpen)
        addSeen(of, a->info.name, a->info.type, b->info.type, names_.same(a->type, b->type));
      else
        addSeen(of, (a ? a : b)->info.name, full(a), full(b),
                named && names_.text(a->info.type) == names_.text(b->info.type));
    }
  }

  // As far as values of the import have their types in the typed module.
  static std::map<ValueId, Type> typesOf(const Module& module) {
    std::map<ValueId, Type> types;
    forEachOp(module, [&](const Function&, const Op& op) {
      for (const ValueDef& result : op.results) types[result.id] = result.type;
    });
    return types;
  }

  void compareInner() {
    const std::map<ValueId, Type> types = typesOf(before_.typed()), otherTypes = typesOf(after_.typed());
    std::set<ValueId> outputs;
    if (const Function* main = before_.imported().main())
      outputs.insert(main->results.begin(), main->results.end());
    for (const MatchedOps& pair : match_.ops) {
      if (constantOf(*pair.before)) continue;
      for (size_t i = 0; i < std::min(pair.before->results.size(), pair.after->results.size()); ++i) {
        const ValueId value = pair.before->results[i].id, other = pair.after->results[i].id;
        const auto a = types.find(value), b = otherTypes.find(other);
        if (outputs.count(value) || a == types.end() || b == otherTypes.end() || !a->second || !b->second)
          continue;
        if (names_.same(a->second, b->second))
          ++difference_.sameFormulasCount;
        else
          difference_.inner.push_back(
              {"value", otherIr().valueName(other), a->second.toString(), b->second.toString()});
      }
    }
  }

  // By their texts: a demand may be checked several times.
  void compareChecks() {
    std::map<std::string, std::vector<std::string>> open;
    for (const RunCheck& check : runChecksOf(before_.typed()))
      open[canonical(check, /*ofFirst=*/true)].push_back(check.text());
    std::vector<std::string> added;
    for (const RunCheck& check : runChecksOf(after_.typed())) {
      const auto found = open.find(canonical(check, /*ofFirst=*/false));
      if (found == open.end() || found->second.empty()) {
        added.push_back(check.text());
      } else {
        found->second.pop_back();
        ++difference_.sameFormulasCount;
      }
    }
    for (const auto& entry : open)
      for (const std::string& text : entry.second) difference_.seen.push_back({"check", "", text, ""});
    for (const std::string& text : added) difference_.seen.push_back({"check", "", "", text});
  }

  std::string canonical(const RunCheck& check, bool ofFirst) {
    const auto text = [&](Dim dim) {
      const std::string formula = ofFirst ? names_.text(dim.toString()) : dim.toString();
      if (formula.find('?') != std::string::npos) return names_.text(formula);
      const Result<Dim> parsed = parseDim(otherIr().dims(), formula);
      return parsed.ok() ? parsed->toString() : formula;
    };
    return checkText(check.relation, check.lhs, check.rhs, text) + ": " + names_.text(check.what);
  }

  LoadedModel& before_;
  LoadedModel& after_;
  FormulaNames names_;
  ModelMatch match_;
  std::map<ValueId, const HostTensor*> constants_, otherConstants_;
  ModelDifference difference_;
};

}  // namespace

ModelDifference modelDifference(LoadedModel& before, LoadedModel& after) {
  return Comparison(before, after).run();
}

}  // namespace dyn
