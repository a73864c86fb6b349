// Dead code elimination.
//   requires: nothing.  provides: every operation has effects, is used, or defines a dim that is used.
//   before  %a = relu(%x)  %b = neg(%x)  return %b        after  %b = neg(%x)  return %b
// A dim is a use: `%i = nonzero(%x) : Tensor[(2, ?1), i64]` stays while anything mentions `?1`.
// Cost: one backward sweep per function.
#include <algorithm>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/liveness.h"

namespace dyn::passes {

namespace {

// Do the regions hold anything with effects? Answered for functions already rewritten, so nesting is looked
// at once per level.
bool hasEffects(const Op& op, const std::unordered_map<const Function*, bool>& effectful) {
  if (op.def->hasEffects) return true;
  return std::any_of(op.regions.begin(), op.regions.end(), [&](const Function* region) {
    auto it = effectful.find(region);
    return it != effectful.end() && it->second;
  });
}

Result<Module> runDce(const Module& module, PassContext& context) {
  int64_t removed = 0;
  std::unordered_map<const Function*, bool> effectful;
  // The symbols of functions already rewritten, taken over by the operation around each: nesting costs
  // nothing more.
  std::unordered_map<const Function*, std::set<SymbolId>> mentionedIn;
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    // The operation that first mentions a symbol defines it.
    std::set<SymbolId> known;
    for (const Parameter& p : function.parameters)
      for (SymbolId s : symbolsOf(p.type)) known.insert(s);
    std::vector<std::vector<SymbolId>> defines(function.ops.size());
    for (size_t i = 0; i < function.ops.size(); ++i)
      for (const ValueDef& result : function.ops[i]->results) {
        if (!result.type) continue;
        for (SymbolId s : symbolsOf(result.type))
          if (known.insert(s).second) defines[i].push_back(s);
      }

    std::unordered_set<ValueId> used(function.results.begin(), function.results.end());
    std::set<SymbolId> mentioned;
    for (Type type : function.resultTypes)
      if (type)
        for (SymbolId s : symbolsOf(type)) mentioned.insert(s);
    std::vector<const Op*> kept;
    bool anyEffects = false;
    for (size_t i = function.ops.size(); i-- > 0;) {
      const Op& op = *function.ops[i];
      const bool effects = hasEffects(op, effectful);
      const bool needed = effects ||
                          std::any_of(op.results.begin(), op.results.end(),
                                      [&](const ValueDef& r) { return used.count(r.id) != 0; }) ||
                          std::any_of(defines[i].begin(), defines[i].end(),
                                      [&](SymbolId s) { return mentioned.count(s) != 0; });
      if (!needed) {
        ++removed;
        continue;
      }
      anyEffects |= effects;
      kept.push_back(&op);
      for (ValueId v : op.operands) used.insert(v);
      collectOwnSymbols(op, mentioned);
      for (const Function* region : op.regions) {
        std::set<SymbolId>& inside = mentionedIn[region];
        if (inside.size() > mentioned.size()) mentioned.swap(inside);
        mentioned.insert(inside.begin(), inside.end());
        mentionedIn.erase(region);
      }
    }
    const Function* result = &function;
    if (kept.size() != function.ops.size()) {
      Function smaller = function;
      std::reverse(kept.begin(), kept.end());
      smaller.ops = std::move(kept);
      result = module.context->own(std::move(smaller));
    }
    effectful[result] = anyEffects;
    // A region mentions what its operations do; its parameters and result types count with the operation
    // around it.
    mentionedIn[result] = std::move(mentioned);
    return result;
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["removed_ops"] = removed;
  return result;
}

}  // namespace

PassDef dcePass() {
  return {.name = "dce",
          .summary = "removes operations with unused results and dims",
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runDce};
}

}  // namespace dyn::passes
