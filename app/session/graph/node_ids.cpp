#include "app/session/graph/node_ids.h"

#include "app/session/views/node_id.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

// An operation is its first result: values keep their ids. Placement splits `%y = fused(...)` into memory and
// the work: `into` stays the node it was, `alloc` is new. Others without results are their operator, their
// last operand and the how-manieth such they are.
NodeIds::NodeIds(const Module& module) {
  std::map<std::pair<std::string_view, ValueId>, uint32_t> seen;
  forEachOp(module, [&](const Function&, const Op& op) {
    if (op.def == &ops::intoOp) {
      const size_t outputs = static_cast<size_t>(op.attributes.integer("outputs", 1));
      if (outputs > 0 && outputs <= op.operands.size()) {
        ids_[&op] = ofValue(op.operands[op.operands.size() - outputs]);
        return;
      }
    }
    if (op.def == &ops::allocOp && !op.results.empty()) {
      ids_[&op] = ofValue(op.results[0].id) + 1;
      return;
    }
    if (!op.results.empty()) {
      ids_[&op] = ofValue(op.results[0].id);
      return;
    }
    const std::string_view name = op.def ? op.def->name : std::string_view();
    const ValueId last = op.operands.empty() ? 0 : op.operands.back();
    const uint32_t occurrence = seen[{name, last}]++;
    uint32_t hash =
        2166136261u;  // FNV-1a: the operator's number must not depend on which others the module has
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    ids_[&op] = (NodeId{hash & 0xffff} << 45) | (NodeId{occurrence & 0xfff} << 33) | (NodeId{last} * 2 + 1);
  });
}

NodeId NodeIds::of(const Op& op) const {
  auto it = ids_.find(&op);
  return it == ids_.end() ? kNoNode : it->second;
}

}  // namespace dyn
