#include "app/engine/generate/token_table.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

bool keepsElements(const Op& op) { return op.def->traits.view || op.def == &ops::castOp; }

void lower(std::optional<int64_t>& count, std::optional<int64_t> other) {
  if (other) count = count ? std::min(*count, *other) : other;
}

// The size of the axis that a gather chooses along.
std::optional<int64_t> chosenFrom(const Op& op, const std::unordered_map<ValueId, Type>& types) {
  const auto table = types.find(op.operands[0]);
  if (table == types.end() || !table->second || !table->second.isTensor()) return std::nullopt;
  const int64_t rank = table->second.rank();
  int64_t axis = op.attributes.integer("axis");
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return table->second.dims()[static_cast<size_t>(axis)].constant();
}

// Within one function, whose parameters `ids` are the ids. Branches inside of branches say nothing.
std::optional<int64_t> countIn(const Function& function, std::set<ValueId> ids, bool isBranch) {
  std::unordered_map<ValueId, Type> types;
  for (const Parameter& parameter : function.parameters) types[parameter.id] = parameter.type;
  std::optional<int64_t> count;
  for (const Op* op : function.ops) {
    for (const ValueDef& result : op->results) types[result.id] = result.type;
    if (keepsElements(*op) && ids.contains(op->operands[0])) ids.insert(op->results[0].id);
    if (op->def == &ops::gatherOp && ids.contains(op->operands[1])) lower(count, chosenFrom(*op, types));
    if (op->def != &ops::ifOp || isBranch) continue;
    std::optional<int64_t> larger = 0;
    for (const Function* branch : op->regions) {
      std::set<ValueId> inner;
      for (size_t i = 0; i < branch->parameters.size(); ++i)
        if (ids.contains(op->operands[i + 1])) inner.insert(branch->parameters[i].id);
      const std::optional<int64_t> own = countIn(*branch, std::move(inner), true);
      larger = own && larger ? std::optional<int64_t>(std::max(*own, *larger)) : std::nullopt;
    }
    lower(count, larger);
  }
  return count;
}

}  // namespace

std::optional<int64_t> tokensCountOf(const Module& module, size_t ids) {
  const Function* main = module.main();
  if (!main || ids >= main->parameters.size()) return std::nullopt;
  return countIn(*main, {main->parameters[ids].id}, false);
}

}  // namespace dyn
