#include "compiler/passes/padding/position_needs.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/padding/mask_zeros.h"

namespace dyn::passes {

std::unordered_set<ValueId> makersOf(const Function& function, const std::vector<ValueId>& values) {
  std::unordered_set<ValueId> reached(values.begin(), values.end());
  for (size_t i = function.ops.size(); i-- > 0;) {
    const Op& op = *function.ops[i];
    if (!op.def->traits.readsShape &&
        std::any_of(op.results.begin(), op.results.end(),
                    [&](const ValueDef& r) { return reached.count(r.id) != 0; }))
      reached.insert(op.operands.begin(), op.operands.end());
  }
  return reached;
}

PositionNeeds::PositionNeeds(const InferredModule& inferred, Positions& positions, const MaskedSites& sites,
                             PaddedResults policy)
    : inferred_(inferred),
      main_(*inferred.module.main()),
      positions_(positions),
      sites_(sites),
      policy_(policy) {
  for (const Op* op : main_.ops)
    for (const ValueDef& r : op->results) madeBy_[r.id] = op;
  for (const auto& [op, site] : sites_.attentions) ofMask_.insert({site.bias, site.allowed, site.table});
  for (const auto& [op, site] : sites_.recurrences) ofMask_.insert(site.lengths);
  ofMask_ = makersOf(main_, {ofMask_.begin(), ofMask_.end()});
  for (ValueId v : main_.results) {
    // Of both in one axis it is not known which of them is the outer.
    const auto axes = positions_.axesOf(positions_.typeOf(v));
    if (policy_ == PaddedResults::zero && axes && !axes->joined())
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
  // What a recurrence stacks is 0 elsewhere; its last states are of no position.
  if (sites_.isRecurrence(op)) return any(PositionNeed::kept) || any(PositionNeed::all);
  return canPack(op) && any(PositionNeed::kept) && !any(PositionNeed::all);
}

bool PositionNeeds::isPacked(ValueId v) const {
  const auto made = madeBy_.find(v);
  return made != madeBy_.end() && of(v) == PositionNeed::kept && isPacked(*made->second);
}

bool PositionNeeds::isZeroed(ValueId v) {
  const auto [found, fresh] = zeroed_.try_emplace(v, false);
  const auto made = madeBy_.find(v);
  if (!fresh || made == madeBy_.end() || ofMask_.count(v) || !positions_.axesOf(positions_.typeOf(v)))
    return found->second;
  const bool zero = sites_.isRecurrence(*made->second) ||
                    (sites_.attentions.count(made->second) == 0 && makesZero(*made->second));
  return zeroed_[v] = zero;
}

// x * mask, and zeros that are only moved.
bool PositionNeeds::makesZero(const Op& op) {
  const bool product = op.def == &ops::mulOp;
  if ((!product && !op.def->traits.view && op.def != &ops::transposeOp && op.def != &ops::concatOp) ||
      !canPack(op))
    return false;
  const auto isZero = [&](ValueId v) { return isZeroed(v) || (product && isZeroFactor(v)); };
  if (op.def->traits.view) return isZero(op.operands[0]);
  return product ? std::any_of(op.operands.begin(), op.operands.end(), isZero)
                 : std::all_of(op.operands.begin(), op.operands.end(), isZero);
}

// Is it 0 where the mask does not hold, or a value of the mask, whose zeros are looked for when it runs? A
// position that is kept only since it is not 0 there is as with its padding, but under a causal mask.
bool PositionNeeds::isZeroFactor(ValueId v) {
  if (sites_.attentions.empty() || !positions_.axesOf(positions_.typeOf(v))) return false;
  return isTaken(beforeExpansion(v));
}

bool PositionNeeds::isTaken(ValueId v) {
  if (!isOfMask(v)) return false;
  if (isZeroWhereMasked(inferred_, sites_.attentions.begin()->second, v)) return true;
  for (const auto& [op, site] : sites_.attentions)
    if (site.causal || site.window || site.pairs) return false;
  factors_.insert(v);
  all(v, "it is the mask");
  return true;
}

// where(mask, x, other), or where(not mask, other, x): nobody reads x where the mask is 0.
bool PositionNeeds::isChosenByMask(const Op& where, size_t i) {
  if (where.def != &ops::whereOp || i == 0 || sites_.attentions.empty()) return false;
  ValueId v = where.operands[0];
  bool holds = i == 1;  // x is read where v is not 0
  for (int steps = 0; steps < 8; ++steps) {
    if (!positions_.axesOf(positions_.typeOf(v))) return false;
    v = beforeExpansion(v);
    const auto made = madeBy_.find(v);
    if (made == madeBy_.end()) break;
    const Op& op = *made->second;
    const auto isZero = [&](ValueId number) {
      const auto known = inferred_.contents.find(number);
      return known != inferred_.contents.end() && known->second.size() == 1 && known->second[0] &&
             known->second[0].isConstant(0);
    };
    if (op.def->traits.view && canPack(op)) {
      v = op.operands[0];
      continue;
    }
    if (op.def != &ops::logical_notOp && (op.def != &ops::equalOp || !isZero(op.operands[1]))) break;
    v = op.operands[0];
    holds = !holds;
  }
  return holds && positions_.axesOf(positions_.typeOf(v)) && isTaken(v);
}

// A value that is 0 where this one is: it is expanded from that, or the same whole numbers as another type.
ValueId PositionNeeds::beforeExpansion(ValueId v) const {
  for (auto made = madeBy_.find(v); made != madeBy_.end(); made = madeBy_.find(v)) {
    const Op& op = *made->second;
    if (op.def != &ops::expandOp && op.def != &ops::castOp) break;
    const Type from = positions_.typeOf(op.operands[0]);
    const bool real = isReal(from.dtype()) && op.def == &ops::castOp;
    if (!from.isTensor() || real || !positions_.axesOf(from)) break;
    v = op.operands[0];
  }
  return v;
}

// One number for each position, computed from inputs that the mask is computed from, by little.
bool PositionNeeds::isOfMask(ValueId v) const {
  const Type type = positions_.typeOf(v);
  if (!isReal(type.dtype()) && !isInteger(type.dtype()) && type.dtype() != Dtype::boolean) return false;
  for (Dim d : type.dims())
    if (!d.isConstant(1) && !positions_.isBatch(d) && !positions_.isSequence(d)) return false;
  const MaskedAttention& site = sites_.attentions.begin()->second;
  const std::set<ValueId> own = inputsOf({v}), mask = inputsOf({site.bias, site.allowed});
  return std::any_of(own.begin(), own.end(), [&](ValueId input) { return mask.count(input) != 0; });
}

// The inputs that values are computed from; none where that takes much.
std::set<ValueId> PositionNeeds::inputsOf(std::vector<ValueId> values) const {
  constexpr size_t kMostValues = 1000;
  std::set<ValueId> inputs, reached;
  while (!values.empty()) {
    const ValueId v = values.back();
    values.pop_back();
    if (v == kNoValue || !reached.insert(v).second) continue;
    const auto made = madeBy_.find(v);
    if (made == madeBy_.end()) {
      inputs.insert(v);
      continue;
    }
    if (made->second->def->traits.readsShape) continue;
    if (made->second->def == &ops::matmulOp || reached.size() > kMostValues) return {};
    values.insert(values.end(), made->second->operands.begin(), made->second->operands.end());
  }
  return inputs;
}

bool PositionNeeds::canPack(const Op& op) const {
  return sites_.has(op) || positions_.whyNotByPosition(op).empty();
}

void PositionNeeds::keptIsEnough(ValueId v) {
  if (v == kNoValue || of(v) == PositionNeed::all) return;
  const auto made = madeBy_.find(v);
  if (made == madeBy_.end() || !canPack(*made->second))
    needs_[v] = PositionNeed::all;  // it is taken apart
  else
    needs_[v] = PositionNeed::kept;
}

// Of a bias by pairs of positions, and what it is made of: it is computed whole, from zeros where positions
// are left out.
void PositionNeeds::pairsAreEnough(ValueId v) {
  if (v == kNoValue) return;
  const Type type = positions_.typeOf(v);
  const auto at = type ? positions_.axesOf(type) : std::nullopt;
  if (at && !at->joined())
    keptIsEnough(v);
  else
    needs_[v] = PositionNeed::all;
}

void PositionNeeds::all(ValueId v, const std::string& why) {
  if (v != kNoValue) whole_.insert(v);
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
  const bool ofPairs =
      sites_.pairs.count(&op) && std::none_of(op.results.begin(), op.results.end(),
                                              [&](const ValueDef& r) { return whole_.count(r.id); });
  for (size_t i = 0; i < op.operands.size(); ++i)
    if (ofPairs)
      pairsAreEnough(op.operands[i]);
    else
      visitOperand(op, i);
}

void PositionNeeds::visitPacked(const Op& op) {
  if (const auto site = sites_.recurrences.find(&op); site != sites_.recurrences.end()) {
    for (ValueId v : op.operands) {
      const std::vector<ValueId>& steps = site->second.steps;
      if (std::find(steps.begin(), steps.end(), v) != steps.end())
        keptIsEnough(v);
      else
        all(v, "its loop needs it whole");
    }
    return;
  }
  if (const auto site = sites_.attentions.find(&op); site != sites_.attentions.end()) {
    for (ValueId v : {site->second.q, site->second.k, site->second.v}) keptIsEnough(v);
    for (ValueId v : {site->second.bias, site->second.allowed, site->second.table}) all(v, "it is the mask");
    for (ValueId v : site->second.own) pairsAreEnough(v);
    return;
  }
  if (sites_.reversals.count(&op)) return keptIsEnough(op.operands[0]);
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
  if (i == 1 && sites_.keyReaders.count(&op) && positions_.axesOf(positions_.typeOf(v))) {
    readsEmpty_ = true;
    return keptIsEnough(v);
  }
  const bool ofMask = !op.results.empty() && ofMask_.count(op.results[0].id) != 0;  // itself read everywhere
  if (!ofMask && positions_.axesOf(positions_.typeOf(v)) && isChosenByMask(op, i)) return keptIsEnough(v);
  if (positions_.axesOf(positions_.typeOf(v)) && positions_.whyNotByPosition(op) != "" && !isZeroed(v)) {
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
