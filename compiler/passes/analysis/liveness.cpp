#include "compiler/passes/analysis/liveness.h"

#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

// Operations that read the bytes of their operands and keep no reference to them.
bool onlyReads(const Op& op) {
  return op.def->traits.onlyReads || op.def->lowering == LoweringKind::loops ||
         op.def->lowering == LoweringKind::builtin;
}

// Parameters of a region whose bytes may outlive the region: used by anything but plain readers.
std::unordered_set<ValueId> escapingParameters(const Function& region) {
  std::unordered_set<ValueId> escaping;
  for (ValueId v : region.results) escaping.insert(v);
  for (const Op* op : region.ops)
    if (!onlyReads(*op))
      for (ValueId v : op->operands) escaping.insert(v);
  return escaping;
}

}  // namespace

Liveness computeLiveness(const Function& function) {
  Liveness live;
  const size_t end = function.ops.size();
  auto use = [&](ValueId v, size_t at) {
    if (v == kNoValue) return;
    for (ValueId target : {v, live.rootOf(v)}) {
      auto [it, fresh] = live.lastUse.try_emplace(target, at);
      if (!fresh && it->second < at) it->second = at;
    }
  };
  for (size_t i = 0; i < end; ++i) {
    const Op& op = *function.ops[i];
    for (ValueId v : op.operands) use(v, i);
    for (const ValueDef& result : op.results) live.lastUse.try_emplace(result.id, i);
    if (op.def->traits.view && !op.operands.empty()) {
      live.root[op.results[0].id] = live.rootOf(op.operands[0]);
      continue;
    }
    if (op.def == &ops::allocOp && op.attributes.integer("reuse") != 0)
      use(op.operands[0], end);  // its memory goes on
    if (onlyReads(op)) continue;
    std::vector<std::unordered_set<ValueId>> escapes;
    for (const Function* region : op.regions) escapes.push_back(escapingParameters(*region));
    const bool captures = op.def == &ops::ifOp || op.def == &ops::loopOp;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      bool outlives = !captures;
      // `if` passes operand k to parameter k-1; `loop` passes operand k >= 2 to parameter k-1, carried values
      // always escape.
      if (captures && k >= 1) {
        const size_t parameter = k - 1;
        const size_t carried =
            op.def == &ops::loopOp ? static_cast<size_t>(op.attributes.integer("carried")) : 0;
        if (op.def == &ops::loopOp && k >= 2 && k - 2 < carried) outlives = true;
        for (size_t r = 0; r < op.regions.size() && !outlives; ++r)
          if (parameter < op.regions[r]->parameters.size())
            outlives = escapes[r].count(op.regions[r]->parameters[parameter].id) != 0;
      }
      if (outlives) use(op.operands[k], end);
    }
  }
  for (ValueId v : function.results) use(v, end);
  return live;
}

void collectOwnSymbols(const Op& op, std::set<SymbolId>& symbols) {
  auto add = [&](Type type) {
    if (!type) return;
    for (SymbolId s : symbolsOf(type)) symbols.insert(s);
  };
  for (const ValueDef& result : op.results) add(result.type);
  for (const auto& [name, value] : op.attributes.all()) {
    if (const Shape* dims = std::get_if<Shape>(&value))
      for (Dim d : *dims)
        for (SymbolId s : symbolsOf(d)) symbols.insert(s);
    if (const Type* type = std::get_if<Type>(&value)) add(*type);
  }
  for (const Function* region : op.regions)
    for (const Parameter& p : region->parameters) add(p.type);
}

}  // namespace dyn
