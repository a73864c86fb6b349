#include "compiler/infer/infer_functions.h"
#include "compiler/dims/ragged_dim.h"

#include <unordered_map>

#include "compiler/infer/infer.h"
#include "compiler/ops/rules/shape_rules.h"
#include "compiler/ops/rules/type_zip.h"

namespace dyn {

std::vector<const Function*> bodiesOf(const Function* function) {
  std::vector<const Function*> bodies{function};
  for (size_t i = 0; i < bodies.size(); ++i) {
    const Function* body = bodies[i];
    for (const Op* op : body->ops) bodies.insert(bodies.end(), op->regions.begin(), op->regions.end());
  }
  return bodies;
}

int64_t operationCount(const Module& module) {
  int64_t count = 0;
  for (const Function* function : module.functions) {
    for (const Function* body : bodiesOf(function)) count += static_cast<int64_t>(body->ops.size());
  }
  return count;
}

Status learnFromCheck(DimSolver* solver, std::string_view relation, Dim a, Dim b, const Reason& reason) {
  if (relation == "eq") return solver->addEqual(a, b, reason);
  if (relation == "le") return solver->addRange(b - a, 0, std::nullopt, reason);
  if (relation != "broadcast") return {};
  // Beside a constant the other side is 1 or that constant.
  if (b.constant().value_or(0) > 1) return solver->addRange(a, 1, b.constant(), reason);
  if (a.constant().value_or(0) > 1) return solver->addRange(b, 1, a.constant(), reason);
  return {};
}

Status addFact(DimSolver* solver, const Fact& fact) {
  switch (fact.kind) {
    case FactKind::equal:
      return solver->addEqual(fact.a, fact.b, fact.reason);
    case FactKind::range:
      return solver->addRange(fact.a, fact.low, fact.high, fact.reason);
    case FactKind::multipleOf:
      return solver->addMultipleOf(fact.a, fact.multiple, fact.reason);
    case FactKind::equalProduct:
      return solver->addEqualProduct(fact.a, fact.b, fact.reason);
    case FactKind::likely:
      solver->addLikely(fact.a, fact.likely, fact.reason);
      return {};
  }
  return {};
}

namespace {

std::vector<const Function*> calleesOf(const Module& module, const Function* function) {
  std::vector<const Function*> callees;
  for (const Function* body : bodiesOf(function)) {
    for (const Op* op : body->ops) {
      if (!op->attributes.has("callee")) continue;
      if (const Function* callee = module.find(op->attributes.string("callee"))) callees.push_back(callee);
    }
  }
  return callees;
}

}  // namespace

Result<std::vector<const Function*>> calleesFirst(const Module& module) {
  struct Visit {
    const Function* function;
    std::vector<const Function*> callees;
    size_t next = 0;
  };
  std::unordered_map<const Function*, bool> seen;
  std::vector<const Function*> order;
  for (const Function* root : module.functions) {
    if (!seen.emplace(root, true).second) continue;
    std::vector<Visit> stack;
    stack.push_back({root, calleesOf(module, root)});
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next == visit.callees.size()) {
        order.push_back(visit.function);
        stack.pop_back();
        continue;
      }
      const Function* callee = visit.callees[visit.next++];
      if (seen.emplace(callee, true).second) stack.push_back({callee, calleesOf(module, callee)});
    }
  }
  return order;
}

namespace {

using Renaming = std::unordered_map<SymbolId, Dim>;

class Renamer {
 public:
  Renamer(IrContext& ir, const Renaming& renaming) : ir_(ir), renaming_(renaming) {}

  Dim rename(Dim d) const {
    return substitute(d, [&](SymbolId symbol) {
      auto found = renaming_.find(symbol);
      return found == renaming_.end() ? Dim() : found->second;
    });
  }
  Type rename(Type type) const {
    if (!type) return type;
    return mapDims(ir_, type, [&](Dim d, const TypePath&) { return rename(d); });
  }
  Attributes rename(const Attributes& attributes) const {
    Attributes renamed = attributes;
    for (const auto& [name, value] : attributes.all()) {
      if (const Shape* dims = std::get_if<Shape>(&value)) {
        Shape copy = *dims;
        for (Dim& d : copy) d = rename(d);
        renamed.set(name, std::move(copy));
      } else if (const Type* type = std::get_if<Type>(&value)) {
        renamed.set(name, rename(*type));
      }
    }
    return renamed;
  }
  // `regions`: the bodies of the function's operations, renamed already.
  const Function* rename(const Function& function,
                         const std::unordered_map<const Function*, const Function*>& regions) const {
    Function copy = function;
    for (Parameter& parameter : copy.parameters) parameter.type = rename(parameter.type);
    for (Type& type : copy.resultTypes) type = rename(type);
    for (const Op*& op : copy.ops) {
      Op renamed = *op;
      for (ValueDef& result : renamed.results) result.type = rename(result.type);
      renamed.attributes = rename(op->attributes);
      for (const Function*& region : renamed.regions) region = regions.at(region);
      op = ir_.own(std::move(renamed));
    }
    return ir_.own(std::move(copy));
  }

 private:
  IrContext& ir_;
  const Renaming& renaming_;
};

// What a function and its bodies mention, parameters first, each in the order of the text.
template <typename Visit>
void eachSymbol(const Function* function, const Visit& visit) {
  const auto ofType = [&](Type type) {
    if (!type) return;
    for (SymbolId symbol : symbolsOf(type)) visit(symbol);
  };
  for (const Function* body : bodiesOf(function)) {
    for (const Parameter& parameter : body->parameters) ofType(parameter.type);
    for (const Op* op : body->ops) {
      for (const ValueDef& result : op->results) ofType(result.type);
      for (const auto& [name, value] : op->attributes.all()) {
        if (const Shape* dims = std::get_if<Shape>(&value))
          for (Dim d : *dims)
            for (SymbolId symbol : symbolsOf(d)) visit(symbol);
        if (const Type* type = std::get_if<Type>(&value)) ofType(*type);
      }
    }
    for (Type type : body->resultTypes) ofType(type);
  }
}

}  // namespace

Result<Module> separateSymbols(const Module& module) {
  if (module.functions.size() < 2) return module;
  IrContext& ir = *module.context;
  Module separated = module;
  std::unordered_map<SymbolId, const Function*> owner;
  for (const Function*& function : separated.functions) {
    Renaming renaming;
    eachSymbol(function, [&](SymbolId symbol) {
      auto [found, isNew] = owner.emplace(symbol, function);
      if (isNew || found->second == function || renaming.count(symbol)) return;
      const auto named = [&](const std::string& name) { return function->name + "." + name; };
      const std::optional<RaggedDim> ragged = raggedDim(ir.dims().symbolById(symbol));
      const Dim own =
          ir.dims().isAnonymous(symbol) ? ir.dims().any(ir.dims().symbolReason(symbol))
          : ragged ? ir.dims().symbol(named(ragged->lengths) + "[" + named(ragged->batch.toString()) + "]")
                   : ir.dims().symbol(named(ir.dims().symbolName(symbol)));
      renaming.emplace(symbol, own);
      owner.emplace(own.symbol(), function);
    });
    if (renaming.empty()) continue;
    const Renamer renamer(ir, renaming);
    std::vector<const Function*> bodies = bodiesOf(function);
    std::unordered_map<const Function*, const Function*> renamed;
    const Function* top = nullptr;
    for (size_t i = bodies.size(); i-- > 0;) {
      top = renamer.rename(*bodies[i], renamed);
      renamed[bodies[i]] = top;
    }
    function = top;
  }
  return separated;
}

bool isStated(const Fact& fact) {
  return fact.kind != FactKind::likely && !isOfCheck(fact) && fact.reason.text != kElementCountReason;
}

}  // namespace dyn
