#include "compiler/passes/padding/pair_values.h"

#include <algorithm>

#include "compiler/ir/op_def.h"
#include "compiler/passes/analysis/element_composer.h"
#include "compiler/passes/analysis/operand_loads.h"

namespace dyn::passes {

using loop::Expr;
using loop::ExprKind;

namespace {

constexpr size_t kMostPairOps = 2000;  // behind one value

}  // namespace

PairValues::PairValues(const InferredModule& inferred, const Positions& positions)
    : inferred_(inferred), positions_(positions), madeBy_(makersIn(*inferred.module.main())) {}

const PairValues::Axes* PairValues::axesOf(ValueId v) const {
  const auto found = axes_.find(v);
  return found != axes_.end() && found->second.carries ? &found->second : nullptr;
}

PairRegion PairValues::regionOf(ValueId value) {
  PairRegion region;
  // The operations behind the value, readers first; values by position end the search.
  std::vector<ValueId> pending{value};
  std::unordered_set<const Op*> behind;
  while (!pending.empty() && behind.size() < kMostPairOps) {
    const ValueId v = pending.back();
    pending.pop_back();
    if (v == kNoValue) continue;
    const Type type = positions_.typeOf(v);
    const auto at = type ? positions_.axesOf(type) : std::nullopt;
    const auto made = madeBy_.find(v);
    if (at && !at->joined()) {
      axes_.try_emplace(v, Axes{true, at->batch, {at->sequence}});
      continue;
    }
    if (made == madeBy_.end() || made->second->def->traits.readsShape || !behind.insert(made->second).second)
      continue;
    pending.insert(pending.end(), made->second->operands.begin(), made->second->operands.end());
  }
  if (behind.size() >= kMostPairOps) region.whyNot = "it is made of too much";
  for (const Op* op : inferred_.module.main()->ops) {
    if (!region.whyNot.empty()) break;
    if (!behind.count(op)) continue;
    const bool carries = std::any_of(op->operands.begin(), op->operands.end(),
                                     [&](ValueId v) { return axesOf(v) != nullptr; });
    if (!carries) continue;
    const auto [found, fresh] = followed_.try_emplace(op);
    for (size_t i = 0; fresh && i < op->results.size() && found->second.empty(); ++i) {
      Axes axes;
      found->second = explain(*op, i, axes);
      axes_[op->results[i].id] = axes;
    }
    region.whyNot = found->second;
    region.ops.insert(op);
  }
  const Axes* last = axesOf(value);
  if (region.whyNot.empty() && last && last->moved) region.whyNot = last->whyMoved;
  return region;
}

std::string PairValues::explain(const Op& op, size_t result, Axes& axes) const {
  if (!op.regions.empty() || op.def->hasEffects || op.def->cls == OpClass::structural)
    return positions_.nameOf(op) + " is not an operation on elements";
  for (ValueId v : op.operands)
    if (const Axes* of = axesOf(v); of && of->moved)
      return v == op.operands[0] ? byMovedView(op, axes) : of->whyMoved;
  if (!op.def->traits.view) return byLoads(op, result, axes);
  std::string why = byView(op, axes);
  if (why.empty()) return why;
  // It may be brought back.
  axes = *axesOf(op.operands[0]);
  axes.moved = viewOf(inferred_, op, positions_.typeOf(op.operands[0]));
  axes.whyMoved = why;
  return axes.moved ? "" : why;
}

// A view of what is moved: it may be back where it was.
std::string PairValues::byMovedView(const Op& op, Axes& axes) const {
  const Axes& before = *axesOf(op.operands[0]);
  const std::optional<MovedView> moved = viewOf(inferred_, op, *before.moved);
  if (!moved) return before.whyMoved;
  axes = before;
  axes.moved = moved;
  int last = before.batch;
  for (const int axis : before.positions) last = std::max(last, axis);
  if (keepsFirstIndices(inferred_.module.context->facts(), *moved, static_cast<size_t>(last) + 1))
    axes.moved.reset();
  return "";
}

// The same elements in the same order. Sequences are the outermost axis, alone or with heads; positions stay
// along an axis of their own.
std::string PairValues::byView(const Op& op, Axes& axes) const {
  const Axes& before = *axesOf(op.operands[0]);
  const Shape from = positions_.typeOf(op.operands[0]).dims(), to = op.results[0].type.dims();
  IrContext& ir = *inferred_.module.context;
  const DimSolver& facts = ir.facts();
  const auto elementsBefore = [&](const Shape& dims, size_t axis) {
    return elementCount(ir.dims(), {dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis)});
  };
  // As many elements as there are sequences, or so many of each.
  const auto ofSequences = [&](const Shape& dims) {
    const Dim outer = dims.empty() ? Dim() : facts.canonical(dims[0]);
    if (!outer || outer == positions_.batch() || outer.kind() != DimKind::mul)
      return outer && outer == positions_.batch();
    const std::span<const Dim> factors = outer.operands();
    return std::count(factors.begin(), factors.end(), positions_.batch()) == 1 &&
           std::all_of(factors.begin(), factors.end(),
                       [&](Dim d) { return d.isConstant() || d == positions_.batch(); });
  };
  axes.carries = true;
  axes.batch = 0;
  if (before.batch != 0 || !ofSequences(from) || !ofSequences(to))
    return positions_.nameOf(op) + " joins the sequences with other axes";
  for (const int axis : before.positions) {
    const auto k = static_cast<size_t>(axis);
    bool stays = false;
    for (size_t now = 0; now < to.size() && !stays; ++now) {
      stays = facts.equal(from[k], to[now]) == Answer::yes &&
              facts.equal(elementsBefore(from, k), elementsBefore(to, now)) == Answer::yes;
      if (stays) axes.positions.insert(static_cast<int>(now));
    }
    if (!stays) return positions_.nameOf(op) + " joins the positions with other axes";
  }
  return "";
}

std::string PairValues::byLoads(const Op& op, size_t result, Axes& axes) const {
  if (!op.def->lower) return positions_.nameOf(op) + " has no definition in loops";
  std::vector<Type> types;
  for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : positions_.typeOf(v));
  OperandLoads context(op, types, inferred_);
  const std::vector<Expr> index = context.indexOf(op.results[result].type);
  const Result<Expr> element = op.def->lower(context, static_cast<int>(result), index);
  if (!element.ok()) return positions_.nameOf(op) + ": " + element.error().message;
  for (const Expr& load : loop::postorder(std::span(&*element, 1))) {
    if (load.kind() != ExprKind::load) continue;
    const size_t operand = context.operandOf(load.buffer());
    const Axes* from = axesOf(op.operands[operand]);
    if (!from) continue;
    const Shape dims = types[operand].dims();
    const auto own = [&](int axis) {
      const auto k = static_cast<size_t>(axis);
      for (size_t now = 0; now < index.size(); ++now)
        if (isElementOf(load.operands()[k], index[now], dims[k])) return static_cast<int>(now);
      return -1;
    };
    const int batch = own(from->batch);
    if (batch < 0 || (axes.carries && batch != axes.batch))
      return positions_.nameOf(op) + " reads other sequences than its own";
    axes.carries = true;
    axes.batch = batch;
    for (const int axis : from->positions) {
      const int now = own(axis);
      if (now < 0) return positions_.nameOf(op) + " reads other positions than its own";
      axes.positions.insert(now);
    }
  }
  return "";
}

}  // namespace dyn::passes
