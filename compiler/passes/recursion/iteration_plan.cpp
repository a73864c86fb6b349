#include "compiler/passes/recursion/iteration_plan.h"

#include <algorithm>

#include "compiler/ir/op_def.h"

namespace dyn::passes {

namespace {

using Dependences = std::unordered_map<ValueId, IterationDependence>;

// Values of the iteration alone that are made of a product.
std::unordered_set<ValueId> productsOfTheIteration(const std::vector<const Op*>& ops,
                                                   const Dependences& dependence) {
  std::unordered_set<ValueId> products;
  for (const Op* op : ops) {
    const bool product = op->def->cls == OpClass::contraction ||
                         std::any_of(op->operands.begin(), op->operands.end(),
                                     [&](ValueId v) { return products.count(v) != 0; });
    for (const ValueDef& r : op->results)
      if (product && dependence.at(r.id) == IterationDependence::iteration) products.insert(r.id);
  }
  return products;
}

}  // namespace

IterationPlan planIterations(const std::vector<const Op*>& ops, const Dependences& dependence,
                             std::vector<ValueId> level, std::vector<ValueId> before,
                             const std::unordered_set<ValueId>& given) {
  IterationPlan plan;
  std::unordered_map<ValueId, const Op*> makers;
  for (const Op* op : ops)
    for (const ValueDef& r : op->results) makers[r.id] = op;
  const auto maker = [&](ValueId v) {
    const auto found = makers.find(v);
    return found == makers.end() ? nullptr : found->second;
  };
  const std::unordered_set<ValueId> products = productsOfTheIteration(ops, dependence);
  std::unordered_set<ValueId> hoisted;
  while (!level.empty()) {
    const ValueId v = level.back();
    level.pop_back();
    if (given.count(v)) continue;
    const Op* op = maker(v);
    if (op && products.count(v)) {
      if (hoisted.insert(v).second) plan.hoisted.push_back(v);
      before.push_back(v);
    } else if (op && plan.level.insert(op).second) {
      level.insert(level.end(), op->operands.begin(), op->operands.end());
    }
  }
  std::sort(plan.hoisted.begin(), plan.hoisted.end());
  while (!before.empty()) {
    const Op* op = maker(before.back());
    before.pop_back();
    if (op && plan.before.insert(op).second)
      before.insert(before.end(), op->operands.begin(), op->operands.end());
  }
  return plan;
}

}  // namespace dyn::passes
