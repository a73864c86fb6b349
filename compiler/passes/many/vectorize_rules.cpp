#include "compiler/passes/many/vectorize_rules.h"

#include <unordered_map>

namespace dyn::passes {

VectorizeRule vectorizeRuleOf(const OpDef& def) {
  static const std::unordered_map<const OpDef*, VectorizeRule> table = [] {
    std::unordered_map<const OpDef*, VectorizeRule> rules;
    for (const auto& family :
         {axisRules(), productRules(), shapeRules(), indexRules(), imageRules(), controlRules()})
      for (const VectorizeRow& row : family) rules.emplace(row.def, row.rule);
    return rules;
  }();
  const auto row = table.find(&def);
  return row == table.end() ? nullptr : row->second;
}

// Operands broadcast from the right: a batched one gets axes of size 1 behind the leading one, up to the rank
// of the result.
bool vectorizeElementwise(ManyBody& body, const Op& op) {
  const int rank = body.module().rankOf(op.results[0].id);
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) {
    if (v == kNoValue) {
      operands.push_back(v);
      continue;
    }
    operands.push_back(body.isShared(v) ? body.valueOf(v) : body.batchedOf(v, rank));
  }
  body.giveAll(op, *op.def, std::move(operands), op.attributes);
  return true;
}

}  // namespace dyn::passes
