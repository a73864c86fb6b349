#include "compiler/passes/recursion/recursion.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/index/node_table_ops.h"
#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

using Types = std::unordered_map<ValueId, Type>;

class RecursionFinder {
 public:
  RecursionFinder(const Function& function, const Module& module, const Types& types)
      : function_(function), module_(module), ir_(*module.context), types_(types) {
    found_.function = &function;
  }

  Recursion run() {
    for (const FunctionVisit& visit : functionsOf(function_))
      for (const Op* op : visit.function->ops) found_.callsItself = found_.callsItself || isSelfCall(*op);
    if (found_.callsItself) found_.whyNot = search();
    return std::move(found_);
  }

 private:
  bool isSelfCall(const Op& op) const {
    return op.def == &ops::callOp && op.attributes.string("callee") == function_.name;
  }
  std::string named(const Op& op) const {
    const std::string where = op.place.known() ? " (" + op.place.toString() + ")" : "";
    return std::string(op.def->name) + (op.results.empty() ? "" : " %" + ir_.valueName(op.results[0].id)) +
           where;
  }
  std::string named(ValueId v) const { return "%" + ir_.valueName(v); }
  bool isChild(ValueId v) const {
    const auto type = types_.find(v);
    return type != types_.end() && type->second && isChildField(type->second, *found_.data);
  }

  std::string search() {
    const Op* match = nullptr;
    for (const Op* op : function_.ops) {
      if (op->def != &ops::matchOp) continue;
      if (match) return "it has two matches";
      match = op;
    }
    if (!match) return "it has no match, whose cases would compute the kinds of nodes";
    const auto subject = std::find_if(function_.parameters.begin(), function_.parameters.end(),
                                      [&](const Parameter& p) { return p.id == match->operands[0]; });
    if (subject == function_.parameters.end()) return named(*match) + " is not of a parameter";
    found_.argument = static_cast<size_t>(subject - function_.parameters.begin());
    found_.data = module_.findData(subject->type.dataName());
    if (!found_.data) return "its data type is not known";
    if (const std::string why = whyNoTables(*found_.data); !why.empty()) return why;
    if (const std::string why = results(); !why.empty()) return why;
    std::vector<const Op*> after;
    if (const std::string why = around(*match, after); !why.empty()) return why;
    bool leaf = false;
    for (const DataConstructor& constructor : found_.data->constructors) {
      leaf = leaf || !hasChildren(constructor, *found_.data);
      if (const std::string why = makeCase(*match, constructor, after); !why.empty()) return why;
    }
    return leaf ? "" : "no constructor is a leaf";
  }

  // A result is a tensor whose size the other arguments decide.
  std::string results() const {
    std::unordered_set<SymbolId> known;
    for (size_t i = 0; i < function_.parameters.size(); ++i)
      if (i != found_.argument && function_.parameters[i].type.isTensor())
        for (SymbolId symbol : symbolsOf(function_.parameters[i].type)) known.insert(symbol);
    for (size_t k = 0; k < function_.resultTypes.size(); ++k) {
      const Type type = function_.resultTypes[k];
      const std::string what = "result " + std::to_string(k);
      if (!type || !type.isTensor()) return what + " is not a tensor";
      if (dtypeClass(type.dtype()) == DtypeClass::text) return what + " has elements of text";
      for (SymbolId symbol : symbolsOf(type))
        if (!known.count(symbol))
          return "the size of " + what + " may differ from node to node: " + type.toString();
    }
    return "";
  }

  // What stands beside the match: the same for all nodes, or made of its results.
  std::string around(const Op& match, std::vector<const Op*>& after) {
    const ValueId value = function_.parameters[found_.argument].id;
    for (const ValueDef& r : match.results) ofNode_.insert(r.id);
    for (const Op* op : function_.ops) {
      if (op == &match) continue;
      if (isSelfCall(*op)) return named(*op) + " is not in the body of a constructor";
      bool ofNode = false;
      for (ValueId v : op->operands) {
        if (v == value) return named(*op) + " needs " + named(v) + " itself";
        ofNode = ofNode || ofNode_.count(v) != 0;
      }
      if (!ofNode) {
        found_.shared.push_back(op);
        continue;
      }
      for (const ValueDef& r : op->results) ofNode_.insert(r.id);
      after.push_back(op);
    }
    for (size_t i = 1; i < match.operands.size(); ++i) {
      if (match.operands[i] == value) return "a body of its match needs " + named(value) + " itself";
      if (ofNode_.count(match.operands[i])) return named(match) + " captures what it makes";
    }
    for (ValueId v : function_.results)
      if (v == value) return "it gives " + named(v) + " back";
    return "";
  }

  std::string makeCase(const Op& match, const DataConstructor& constructor,
                       const std::vector<const Op*>& after) {
    const std::vector<std::string> names = match.attributes.strings("constructors");
    const auto region =
        static_cast<size_t>(std::find(names.begin(), names.end(), constructor.name) - names.begin());
    const Function& body = *match.regions[region];
    const size_t fields = constructor.fields.size();
    Recursion::Case made;
    made.constructor = &constructor;
    ValueMap same;
    for (size_t i = 0; i < body.parameters.size(); ++i) {
      const ValueId v = body.parameters[i].id;
      if (i < fields) {
        made.fields.push_back(v);
        made.dependence[v] = IterationDependence::iteration;
      } else {
        same[v] = match.operands[1 + i - fields];
      }
    }
    for (const Op* op : body.ops)
      if (const std::string why = add(*op, same, made); !why.empty()) return why;
    const auto stood = [&](ValueId v) {
      const auto found = same.find(v);
      return found == same.end() ? v : found->second;
    };
    for (size_t k = 0; k < match.results.size(); ++k) {
      const ValueId result = stood(body.results[k]);
      if (isChild(result)) return "it gives a field of " + constructor.name + " back";
      same[match.results[k].id] = result;
    }
    for (const Op* op : after)
      if (const std::string why = add(*op, same, made); !why.empty()) return why;
    for (ValueId v : function_.results) made.results.push_back(stood(v));
    found_.cases.push_back(std::move(made));
    return "";
  }

  std::string add(const Op& op, const ValueMap& same, Recursion::Case& made) {
    Op copy = op;
    IterationDependence most = IterationDependence::none;
    for (ValueId& v : copy.operands) {
      if (v == kNoValue) continue;
      if (const auto found = same.find(v); found != same.end()) v = found->second;
      if (const auto of = made.dependence.find(v); of != made.dependence.end())
        most = std::max(most, of->second);
    }
    if (isSelfCall(op)) {
      most = IterationDependence::state;
      size_t field = 0;
      if (const std::string why = childOf(copy, made, field); !why.empty()) return why;
      made.ops.push_back(ir_.own(std::move(copy)));
      made.calls[made.ops.back()] = field;
    } else {
      for (const FunctionVisit& visit : bodiesOf(op))
        for (const Op* inner : visit.function->ops)
          if (isSelfCall(*inner)) return named(*inner) + " stands within control flow: " + named(op);
      for (ValueId v : copy.operands)
        if (v != kNoValue && isChild(v)) return named(op) + " needs " + named(v) + " beside a call of it";
      made.ops.push_back(ir_.own(std::move(copy)));
    }
    for (const ValueDef& r : op.results) {
      if (op.def->traits.readsShape) most = IterationDependence::none;
      made.dependence[r.id] = most;
    }
    return "";
  }

  static std::vector<FunctionVisit> bodiesOf(const Op& op) {
    std::vector<FunctionVisit> all;
    for (const Function* region : op.regions) {
      const std::vector<FunctionVisit> inner = functionsOf(*region);
      all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
  }

  // The call is on a field, and hands all else on.
  std::string childOf(const Op& call, const Recursion::Case& made, size_t& field) const {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const ValueId v = call.operands[i];
      if (i != found_.argument) {
        if (v != function_.parameters[i].id)
          return named(call) + " hands " + named(v) + " on, not its own " + named(function_.parameters[i].id);
        continue;
      }
      const auto at = std::find(made.fields.begin(), made.fields.end(), v);
      if (at == made.fields.end()) return named(call) + " is not on a field of " + made.constructor->name;
      field = static_cast<size_t>(at - made.fields.begin());
    }
    return "";
  }

  const Function& function_;
  const Module& module_;
  IrContext& ir_;
  const Types& types_;
  std::unordered_set<ValueId> ofNode_;
  Recursion found_;
};

}  // namespace

Recursion findRecursion(const Function& function, const Module& module, const Types& types) {
  return RecursionFinder(function, module, types).run();
}

}  // namespace dyn::passes
