#include "app/session/node_ids.h"

#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"

namespace dyn {

// An operation is its first result: values keep their ids. One without results is its operator, its last operand (the destination of `into`) and
// the how-manieth such it is.
NodeIds::NodeIds(const Module& module) {
  std::map<std::pair<std::string_view, ValueId>, uint32_t> seen;
  forEachOp(module, [&](const Function&, const Op& op) {
    if (!op.results.empty()) {
      ids_[&op] = ofValue(op.results[0].id);
      return;
    }
    const std::string_view name = op.def ? op.def->name : std::string_view();
    const ValueId last = op.operands.empty() ? 0 : op.operands.back();
    const uint32_t occurrence = seen[{name, last}]++;
    uint32_t hash = 2166136261u;  // FNV-1a: the operator's number must not depend on which others the module has
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    ids_[&op] = (NodeId{hash & 0xffff} << 45) | (NodeId{occurrence & 0xfff} << 33) | (NodeId{last} * 2 + 1);
  });
}

NodeId NodeIds::of(const Op& op) const {
  auto it = ids_.find(&op);
  return it == ids_.end() ? kNoNode : it->second;
}

}  // namespace dyn
