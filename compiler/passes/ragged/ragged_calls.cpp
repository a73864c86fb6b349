#include "compiler/passes/ragged/ragged_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/dims/ragged_dim.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

constexpr size_t kMostCallOps = 100'000;  // of @main with all that is taken in

bool isRaggedType(IrContext& ir, Type type) {
  if (!type) return false;
  const std::vector<SymbolId> symbols = symbolsOf(type);
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](SymbolId id) { return isRagged(ir.dims().symbolById(id)); });
}

// Names of the functions that `start` calls, and those call.
std::unordered_set<std::string> calledFrom(const Module& module, const Function& start) {
  std::unordered_set<std::string> called;
  std::vector<const Function*> pending{&start};
  while (!pending.empty()) {
    const Function* function = pending.back();
    pending.pop_back();
    for (const FunctionVisit& visit : functionsOf(*function))
      for (const Op* op : visit.function->ops)
        if (const std::string callee = op->attributes.string("callee", ""); !callee.empty())
          if (const Function* found = module.find(callee); found && called.insert(callee).second)
            pending.push_back(found);
  }
  return called;
}

class CallInliner {
 public:
  explicit CallInliner(const Module& module) : module_(module), ir_(*module.context), main_(*module.main()) {
    for (const Parameter& p : main_.parameters) types_[p.id] = p.type;
    for (const Op* op : main_.ops)
      for (const ValueDef& r : op->results) types_[r.id] = r.type;
  }

  // The same function where nothing is to be taken in.
  Result<const Function*> run() {
    for (const Op* op : main_.ops) {
      const Function* callee = calleeOf(*op);
      if (callee && calledFrom(module_, *callee).count(callee->name) != 0)
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: @" + callee->name + " calls itself over ragged tensors", op->place);
      if (callee)
        takeIn(*op, *callee);
      else
        ops_.push_back(op);
      if (ops_.size() > kMostCallOps)
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: calls over ragged tensors that make more than " +
                             std::to_string(kMostCallOps) + " operations",
                         op->place);
    }
    if (values_.empty()) return &main_;
    Function result = main_;
    result.ops = std::move(ops_);
    return replaceValues(ir_, *ir_.own(std::move(result)), values_);
  }

 private:
  const Function* calleeOf(const Op& op) const {
    if (op.def != &ops::callOp) return nullptr;
    const bool ragged = std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
      return v != kNoValue && isRaggedType(ir_, types_.at(v));
    });
    return ragged ? module_.find(op.attributes.string("callee")) : nullptr;
  }

  void takeIn(const Op& call, const Function& callee) {
    const Function& body = *cloneWithNewIds(ir_, callee, ir_.uniqueFunctionName(callee.name + ".taken_in"));
    std::unordered_map<SymbolId, Dim> sizes;
    for (size_t i = 0; i < body.parameters.size() && i < call.operands.size(); ++i) {
      values_[body.parameters[i].id] = call.operands[i];
      const Type formal = body.parameters[i].type, actual = types_.at(call.operands[i]);
      if (!formal || !formal.isTensor() || !actual.isTensor() || formal.rank() != actual.rank()) continue;
      for (size_t axis = 0; axis < formal.dims().size(); ++axis)
        if (formal.dims()[axis].isSymbol()) sizes.emplace(formal.dims()[axis].symbol(), actual.dims()[axis]);
    }
    for (const Op* op : body.ops) {
      Op copy = *substituteDims(ir_, *op, [&](SymbolId id) {
        const auto found = sizes.find(id);
        return found == sizes.end() ? Dim() : found->second;
      });
      for (ValueDef& r : copy.results) r.type = Type();
      ops_.push_back(ir_.own(std::move(copy)));
    }
    for (size_t i = 0; i < call.results.size() && i < body.results.size(); ++i)
      if (call.results[i].id != kNoValue) values_[call.results[i].id] = body.results[i];
  }

  const Module& module_;
  IrContext& ir_;
  const Function& main_;
  std::unordered_map<ValueId, Type> types_;
  std::vector<const Op*> ops_;
  ValueMap values_;
};

// Without functions of ragged parameters that @main does not reach.
Module withoutUncalled(Module module) {
  std::unordered_set<std::string> called = calledFrom(module, *module.main());
  called.insert("main");
  std::erase_if(module.functions, [&](const Function* function) {
    return called.count(function->name) == 0 &&
           std::any_of(function->parameters.begin(), function->parameters.end(),
                       [&](const Parameter& p) { return isRaggedType(*module.context, p.type); });
  });
  return module;
}

}  // namespace

Result<InferredModule> withRaggedCallsInlined(const Module& module) {
  DYN_TRY(InferredModule inferred, inferTypes(module));
  while (true) {
    const Function* main = inferred.module.main();
    DYN_TRY(const Function* changed, CallInliner(inferred.module).run());
    if (changed == main) return inferred;
    DYN_TRY(inferred, inferTypes(withoutUncalled(withMain(inferred.module, changed))));
  }
}

}  // namespace dyn::passes
