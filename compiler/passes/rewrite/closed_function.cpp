#include "compiler/passes/rewrite/closed_function.h"

#include <unordered_map>
#include <unordered_set>

namespace dyn::passes {

std::vector<ValueId> capturesOf(const std::vector<const std::vector<const Op*>*>& lists,
                                const std::vector<const std::vector<ValueId>*>& results) {
  std::vector<ValueId> captures;
  std::unordered_set<ValueId> known{kNoValue};
  for (const auto* list : lists)
    for (const Op* op : *list)
      for (const ValueDef& r : op->results) known.insert(r.id);
  const auto use = [&](ValueId v) {
    if (known.insert(v).second) captures.push_back(v);
  };
  for (const auto* list : lists)
    for (const Op* op : *list)
      for (ValueId v : op->operands) use(v);
  for (const auto* list : results)
    for (ValueId v : *list) use(v);
  return captures;
}

const Function* closedFunction(IrContext& ir, const std::string& name, const std::vector<const Op*>& ops,
                               const std::vector<ValueId>& results, const std::vector<ValueId>& captures) {
  Function function;
  function.name = ir.uniqueFunctionName(name);
  std::unordered_map<ValueId, ValueId> inside;
  for (ValueId v : captures) {
    function.parameters.push_back({ir.newValue(), Type()});
    inside[v] = function.parameters.back().id;
  }
  const auto now = [&](ValueId v) {
    const auto found = inside.find(v);
    return found == inside.end() ? v : found->second;
  };
  for (const Op* op : ops) {
    Op copy = *op;
    for (ValueId& v : copy.operands) v = now(v);
    function.ops.push_back(ir.own(std::move(copy)));
  }
  for (ValueId v : results) function.results.push_back(now(v));
  function.resultTypes.resize(results.size());
  if (!ops.empty()) function.place = ops.front()->place;
  return ir.own(std::move(function));
}

}  // namespace dyn::passes
