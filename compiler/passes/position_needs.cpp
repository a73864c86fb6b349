#include "compiler/passes/position_needs.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

PositionNeeds::PositionNeeds(const InferredModule& inferred, Positions& positions,
                             const AttentionSites& sites, PaddedResults policy)
    : inferred_(inferred),
      main_(*inferred.module.main()),
      positions_(positions),
      sites_(sites),
      policy_(policy) {
  for (const Op* op : main_.ops)
    for (const ValueDef& r : op->results) madeBy_[r.id] = op;
  for (ValueId v : main_.results) {
    if (policy_ == PaddedResults::zero && positions_.axesOf(positions_.typeOf(v)))
      keptIsEnough(v);
    else
      all(v, "it is a result of the program, which shows its padded positions too");
  }
  for (size_t i = main_.ops.size(); i-- > 0;) visit(*main_.ops[i]);
}

PositionNeed PositionNeeds::of(ValueId v) const {
  const auto found = needs_.find(v);
  return found == needs_.end() ? PositionNeed::none : found->second;
}

bool PositionNeeds::isPacked(const Op& op) const {
  const auto any = [&](PositionNeed need) {
    return std::any_of(op.results.begin(), op.results.end(),
                       [&](const ValueDef& r) { return of(r.id) == need; });
  };
  return canPack(op) && any(PositionNeed::kept) && !any(PositionNeed::all);
}

bool PositionNeeds::isPacked(ValueId v) const {
  const auto made = madeBy_.find(v);
  return made != madeBy_.end() && of(v) == PositionNeed::kept && isPacked(*made->second);
}

// x * mask.
bool PositionNeeds::isZeroed(ValueId v) {
  const auto [found, fresh] = zeroed_.try_emplace(v, false);
  const auto made = madeBy_.find(v);
  if (!fresh || made == madeBy_.end()) return found->second;
  const Op& op = *made->second;
  if (op.def != &ops::mulOp || !canPack(op)) return false;
  for (ValueId factor : op.operands)
    found->second |= positions_.axesOf(positions_.typeOf(factor)).has_value() &&
                     isZeroWhereMasked(inferred_, sites_.begin()->second, factor);
  return found->second;
}

bool PositionNeeds::canPack(const Op& op) const {
  return sites_.count(&op) != 0 || positions_.whyNotByPosition(op).empty();
}

void PositionNeeds::keptIsEnough(ValueId v) {
  if (v == kNoValue || of(v) == PositionNeed::all) return;
  const auto made = madeBy_.find(v);
  if (made == madeBy_.end() || !canPack(*made->second))
    needs_[v] = PositionNeed::all;  // it is taken apart
  else
    needs_[v] = PositionNeed::kept;
}

void PositionNeeds::all(ValueId v, const std::string& why) {
  if (v == kNoValue || of(v) == PositionNeed::all) return;
  if (isZeroed(v)) {
    keptIsEnough(v);
    return;
  }
  needs_[v] = PositionNeed::all;
  if (positions_.axesOf(positions_.typeOf(v))) reasons_.emplace(v, why);
}

void PositionNeeds::visit(const Op& op) {
  const auto any = [&](PositionNeed need) {
    return std::any_of(op.results.begin(), op.results.end(),
                       [&](const ValueDef& r) { return of(r.id) == need; });
  };
  if (isPacked(op)) {
    visitPacked(op);
    return;
  }
  if (!any(PositionNeed::all) && !any(PositionNeed::kept) && !op.def->hasEffects && !op.results.empty())
    return;
  if (positions_.sizesOf(op)) return;
  for (const ValueDef& r : op.results)
    if (of(r.id) == PositionNeed::kept) all(r.id, "another result of its operation is needed whole");
  for (size_t i = 0; i < op.operands.size(); ++i) visitOperand(op, i);
}

void PositionNeeds::visitPacked(const Op& op) {
  if (const auto site = sites_.find(&op); site != sites_.end()) {
    for (ValueId v : {site->second.q, site->second.k, site->second.v}) keptIsEnough(v);
    for (ValueId v : {site->second.bias, site->second.allowed, site->second.table}) all(v, "it is the mask");
    return;
  }
  for (ValueId v : op.operands) {
    if (v == kNoValue) continue;
    if (positions_.axesOf(positions_.typeOf(v)))
      keptIsEnough(v);
    else
      all(v, "");
  }
}

void PositionNeeds::visitOperand(const Op& op, size_t i) {
  const ValueId v = op.operands[i];
  if (v == kNoValue) return;
  if (positions_.axesOf(positions_.typeOf(v)) && positions_.whyNotByPosition(op) != "") {
    if (const auto read = positions_.positionsRead(op, i)) {
      seen_.insert(read->begin(), read->end());
      keptIsEnough(v);
      return;
    }
    all(v, positions_.nameOf(op) + " looks across positions");
    return;
  }
  const auto reason = op.results.empty() ? reasons_.end() : reasons_.find(op.results[0].id);
  all(v, reason == reasons_.end() ? positions_.nameOf(op) + " needs it whole" : reason->second);
}

}  // namespace dyn::passes
