#include "app/session/causes/needed_ops.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

Module beginningOf(const Module& module, size_t last, std::vector<ValueId> results) {
  Function main = *module.main();
  main.ops.resize(std::min(main.ops.size(), last + 1));
  std::map<ValueId, Type> types;
  for (const Parameter& parameter : main.parameters) types[parameter.id] = parameter.type;
  for (const Op* op : main.ops)
    for (const ValueDef& result : op->results) types[result.id] = result.type;
  main.resultTypes.clear();
  for (ValueId value : results) main.resultTypes.push_back(types[value]);
  main.results = std::move(results);
  Module changed = module;
  for (const Function*& function : changed.functions)
    if (function == module.main()) {
      function = module.context->own(std::move(main));
      break;
    }
  return changed;
}

Module neededFor(const Module& module, size_t last, std::vector<ValueId> results) {
  Module beginning = beginningOf(module, last, results);
  const Function& whole = *beginning.main();
  std::set<ValueId> needed(results.begin(), results.end());
  std::vector<const Op*> ops;
  for (size_t i = whole.ops.size(); i-- > 0;) {
    const Op* op = whole.ops[i];
    bool takes = i == last || op->def == &ops::bind_dimsOp;
    for (const ValueDef& result : op->results) takes = takes || needed.count(result.id) != 0;
    if (!takes) continue;
    for (ValueId operand : op->operands) needed.insert(operand);
    ops.push_back(op);
  }
  std::reverse(ops.begin(), ops.end());
  Function main = whole;
  main.ops = std::move(ops);
  for (const Function*& function : beginning.functions)
    if (function == &whole) {
      function = module.context->own(std::move(main));
      break;
    }
  return beginning;
}

std::optional<size_t> positionIn(const Module& module, const RecordedRun& run, int frame, const Op* op) {
  while (run.frame(frame).parent >= 0) {
    op = run.frame(frame).caller;
    frame = run.frame(frame).parent;
  }
  const std::vector<const Op*>& ops = module.main()->ops;
  const auto found = std::find(ops.begin(), ops.end(), op);
  if (found == ops.end()) return std::nullopt;
  return static_cast<size_t>(found - ops.begin());
}

std::optional<size_t> positionOf(const Module& module, ValueId value) {
  // A value in a body: the operation of @main around it.
  const Uses uses(module);
  Definition at = uses.definition(value);
  std::map<const Function*, std::pair<const Function*, const Op*>> owners;
  for (const FunctionVisit& visit : functionsOf(module))
    if (visit.owner) owners[visit.function] = {visit.outer, visit.owner};
  const Op* op = at.op;
  const Function* function = at.function;
  while (function && function != module.main()) {
    const auto owner = owners.find(function);
    if (owner == owners.end()) return std::nullopt;
    op = owner->second.second;
    function = owner->second.first;
  }
  const std::vector<const Op*>& ops = module.main()->ops;
  const auto found = std::find(ops.begin(), ops.end(), op);
  if (found == ops.end()) return std::nullopt;
  return static_cast<size_t>(found - ops.begin());
}

}  // namespace dyn
