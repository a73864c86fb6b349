#include "compiler/passes/quantisation/clone_dequantize.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

// Of bytes by one scale, with few instructions an element.
bool widensBytes(const Op& op, const std::unordered_map<ValueId, Type>& types) {
  if (op.def != &ops::dequantize_linearOp) return false;
  const auto typeOf = [&](size_t i) { return types.at(op.operands[i]); };
  if (typeOf(0).dtype() != Dtype::u8 && typeOf(0).dtype() != Dtype::i8) return false;
  for (size_t i = 1; i < op.operands.size(); ++i)
    if (op.operands[i] != kNoValue && typeOf(i).rank() != 0 &&
        !(typeOf(i).rank() == 1 && typeOf(i).dims()[0].isConstant(1)))
      return false;
  return true;
}

// Do its kernels compute operands as they read them?
bool takesIn(const Op& op) {
  return op.regions.empty() && (op.def->cls == OpClass::elementwise || op.def->cls == OpClass::reduction ||
                                op.def->cls == OpClass::injective);
}

}  // namespace

const Function* withClonedDequantize(const Function& function, IrContext& ir) {
  std::unordered_map<ValueId, Type> types;
  for (const Parameter& p : function.parameters) types[p.id] = p.type;
  std::unordered_map<ValueId, const Op*> wideners;
  for (const Op* op : function.ops) {
    for (const ValueDef& r : op->results) types[r.id] = r.type;
    if (widensBytes(*op, types)) wideners[op->results[0].id] = op;
  }
  if (wideners.empty()) return &function;
  std::unordered_map<ValueId, bool> taken;  // by a first user, which has the one there is
  for (ValueId v : function.results)
    if (wideners.count(v)) taken[v] = true;
  std::vector<const Op*> made;
  for (const Op* op : function.ops) {
    Op changed = *op;
    bool isChanged = false;
    for (size_t i = 0; i < op->operands.size(); ++i) {
      const ValueId v = op->operands[i];
      const auto widener = wideners.find(v);
      if (widener == wideners.end()) continue;
      if (bool& isTaken = taken[v]; !isTaken || !takesIn(*op)) {
        isTaken = true;
        continue;
      }
      const auto before = std::find(op->operands.begin(), op->operands.begin() + static_cast<long>(i), v);
      if (before != op->operands.begin() + static_cast<long>(i)) {  // read twice: once is enough
        changed.operands[i] = changed.operands[static_cast<size_t>(before - op->operands.begin())];
        continue;
      }
      Op own = *widener->second;
      own.results[0].id = ir.newValue();
      changed.operands[i] = own.results[0].id;
      made.push_back(ir.own(std::move(own)));
      isChanged = true;
    }
    made.push_back(isChanged ? ir.own(std::move(changed)) : op);
  }
  if (made.size() == function.ops.size()) return &function;
  Function result = function;
  result.ops = std::move(made);
  return ir.own(std::move(result));
}

}  // namespace dyn::passes
