#include "compiler/passes/padding/positions.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/element_bounds.h"
#include "compiler/passes/analysis/operand_loads.h"

namespace dyn::passes {

using loop::Expr;
using loop::ExprKind;

namespace {

constexpr int64_t kMostPositions = 8;  // that are worth keeping for one operation's sake

// Calls visit(load) for each load in the expression; what it returns true for is not looked into.
// `otherwise(e)` for each expression outside of them; broadcasting's own tests of extents are none.
template <typename Visit, typename Otherwise>
void forEachLoad(const Expr root, const Visit& visit, const Otherwise& otherwise) {
  std::vector<Expr> pending{root};
  std::unordered_set<uint32_t> seen;
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!seen.insert(e.id()).second) continue;
    if (e.kind() != ExprKind::load)
      otherwise(e);
    else if (visit(e))
      continue;
    for (const Expr& operand : e.operands()) pending.push_back(operand);
  }
}

}  // namespace

Positions::Positions(const InferredModule& inferred, Dim batch, Dim sequence)
    : inferred_(inferred), ir_(*inferred.module.context), batch_(batch), sequence_(sequence) {
  symbols_ = symbolsOf(sequence);
  symbols_.push_back(batch.symbol());
  const Function& main = *inferred.module.main();
  for (const Parameter& p : main.parameters) types_[p.id] = p.type;
  for (const Op* op : main.ops)
    for (const ValueDef& r : op->results) types_[r.id] = r.type;
}

bool Positions::mentions(Dim d) const {
  const std::vector<SymbolId> symbols = symbolsOf(canonical(d));
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) {
    return std::find(symbols_.begin(), symbols_.end(), s) != symbols_.end();
  });
}

bool Positions::is(Dim d, Dim symbol) const {
  return canonical(d) == symbol || (mentions(d) && ir_.facts().equal(d, symbol) == Answer::yes);
}

bool Positions::isBoth(Dim d) const {
  return mentions(d) && ir_.facts().equal(d, batch_ * sequence_) == Answer::yes;
}

std::optional<PositionAxes> Positions::axesOf(Type type) const {
  if (!type.isTensor()) return std::nullopt;
  std::optional<int> batch, sequence;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const Dim d = type.dims()[static_cast<size_t>(axis)];
    if (!mentions(d)) continue;
    if (isBoth(d) && !isBatch(d) && !isSequence(d)) {
      if (batch || sequence) return std::nullopt;
      batch = sequence = axis;
      continue;
    }
    std::optional<int>& found = isBatch(d) ? batch : sequence;
    if (found || (!isBatch(d) && !isSequence(d))) return std::nullopt;
    found = axis;
  }
  if (!batch || !sequence) return std::nullopt;
  return PositionAxes{*batch, *sequence};
}

std::optional<int> Positions::sequenceAxisOf(Type type) const {
  std::optional<int> found;
  for (int axis = 0; type.isTensor() && axis < type.rank(); ++axis) {
    const Dim d = type.dims()[static_cast<size_t>(axis)];
    if (!mentions(d)) continue;
    const std::vector<SymbolId> symbols = symbolsOf(canonical(d));
    const bool ofBatch = std::binary_search(symbols.begin(), symbols.end(), batch_.symbol());
    if (found || ofBatch || (!isSequence(d) && ir_.facts().lessEqual(d, sequence_) != Answer::yes))
      return std::nullopt;
    found = axis;
  }
  return found;
}

std::string Positions::nameOf(const Op& op) const {
  const std::string where = op.place.known() ? " (" + op.place.toString() + ")" : "";
  return std::string(op.def->name) + (op.results.empty() ? "" : " %" + ir_.valueName(op.results[0].id)) +
         where;
}

std::vector<Type> Positions::typesOf(const Op& op) const {
  std::vector<Type> types;
  for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : types_.at(v));
  return types;
}

const std::string& Positions::whyNotByPosition(const Op& op) {
  const auto [found, fresh] = whyNot_.try_emplace(&op);
  if (fresh) found->second = explain(op);
  return found->second;
}

// Sizes that neither the inputs nor the operands have stand for what the operation says when it runs.
bool Positions::makesSizes(const Op& op) const {
  std::vector<SymbolId> known;
  const auto add = [&](Type type) {
    if (!type) return;
    const std::vector<SymbolId> symbols = symbolsOf(type);
    known.insert(known.end(), symbols.begin(), symbols.end());
  };
  for (const Parameter& p : inferred_.module.main()->parameters) add(p.type);
  for (ValueId v : op.operands)
    if (v != kNoValue) add(types_.at(v));
  return std::any_of(op.results.begin(), op.results.end(), [&](const ValueDef& r) {
    const std::vector<SymbolId> symbols = symbolsOf(r.type);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](SymbolId s) { return std::find(known.begin(), known.end(), s) == known.end(); });
  });
}

std::string Positions::explain(const Op& op) const {
  if (op.results.empty() || !op.regions.empty() || op.def->cls == OpClass::structural || op.def->hasEffects)
    return nameOf(op) + " is not an operation on elements";
  for (const ValueDef& r : op.results)
    if (!axesOf(r.type)) return nameOf(op) + " has no result by position";
  if (makesSizes(op)) return nameOf(op) + " makes sizes known that others mention";
  const auto other = [&](Dim d) { return d && mentions(d) && !isBatch(d) && !isSequence(d) && !isBoth(d); };
  for (const auto& [name, value] : op.attributes.all())
    if (const Shape* dims = std::get_if<Shape>(&value);
        dims && std::any_of(dims->begin(), dims->end(), other))
      return nameOf(op) + " depends on how many positions there are";
  if (op.def->traits.view) return byView(op);
  if (!op.def->lower) return nameOf(op) + " has no definition in loops";
  // What is packed may have no position at all, which no window fits into: it is written as a product.
  if (op.def == &ops::convOp && op.results[0].type.rank() != 3)
    return nameOf(op) + " is a convolution along several axes";
  for (size_t i = 0; i < op.results.size(); ++i)
    if (std::string why = byLoads(op, i, *axesOf(op.results[i].type)); !why.empty()) return why;
  for (size_t i : shapeOperands(op)) {
    const Contents& sizes = inferred_.contents.at(op.operands[i]);
    if (std::any_of(sizes.begin(), sizes.end(), [&](Dim d) { return !d || other(d); }))
      return nameOf(op) + " depends on how many positions there are";
  }
  return "";
}

// The same elements in the same order: both axes stay what they are where as many elements stand before each.
std::string Positions::byView(const Op& op) const {
  const Type from = types_.at(op.operands[0]), to = op.results[0].type;
  const auto before = axesOf(from), after = axesOf(to);
  if (!before) return nameOf(op) + " does not keep the positions along two axes";
  const auto elementsBefore = [&](Type type, int axis) {
    const Shape& dims = type.dims();
    return elementCount(ir_.dims(), {dims.begin(), dims.begin() + axis});
  };
  const auto asMany = [&](int axis, int now) {
    return ir_.facts().equal(elementsBefore(from, axis), elementsBefore(to, now)) == Answer::yes;
  };
  // Where they become one axis, or come of one, nothing stands between both.
  const auto adjoin = [&](Type type, const PositionAxes& axes) {
    return axes.joined() || (axes.batch < axes.sequence &&
                             ir_.facts().equal(elementsBefore(type, axes.batch) * batch_,
                                               elementsBefore(type, axes.sequence)) == Answer::yes);
  };
  const bool one = before->joined() || after->joined();
  if (!asMany(before->batch, after->batch) ||
      (one ? !adjoin(from, *before) || !adjoin(to, *after) : !asMany(before->sequence, after->sequence)))
    return nameOf(op) + " joins the positions with other axes";
  return "";
}

std::string Positions::byLoads(const Op& op, size_t result, const PositionAxes& axes) const {
  OperandLoads context(op, typesOf(op), inferred_);
  const std::vector<Expr> index = context.indexOf(op.results[result].type);
  const Result<Expr> element = op.def->lower(context, static_cast<int>(result), index);
  if (!element.ok()) return nameOf(op) + ": " + element.error().message;
  std::string why;
  const auto own = [&](const Expr& load, int axis, int of, Type type) {
    return isElementOf(load.operands()[static_cast<size_t>(axis)], index[static_cast<size_t>(of)],
                       type.dims()[static_cast<size_t>(axis)]);
  };
  std::vector<Expr> others{withoutSingleIterations(*element)};  // places along the other axes
  for (size_t k = 0; k < others.size() && why.empty(); ++k)
    forEachLoad(
        others[k],
        [&](const Expr& load) {
          const Type type = types_.at(op.operands[context.operandOf(load.buffer())]);
          const auto at = axesOf(type);
          const std::optional<int> alone = sequenceAxisOf(type);
          const bool any =
              std::any_of(type.dims().begin(), type.dims().end(), [&](Dim d) { return mentions(d); });
          if (!any) return false;
          const bool fine = at ? at->joined() == axes.joined() && own(load, at->batch, axes.batch, type) &&
                                     own(load, at->sequence, axes.sequence, type)
                            : alone ? !axes.joined() && own(load, *alone, axes.sequence, type)
                                    : false;
          if (!fine) why = nameOf(op) + " reads other positions than its own";
          for (int axis = 0; axis < type.rank(); ++axis)
            if (!at ? axis != alone : axis != at->batch && axis != at->sequence)
              others.push_back(load.operands()[static_cast<size_t>(axis)]);
          return true;
        },
        [&](const Expr& e) {
          if (e.kind() == ExprKind::dim && mentions(e.dimValue()))
            why = nameOf(op) + " depends on how many positions there are";
          if (e.same(index[static_cast<size_t>(axes.batch)]) ||
              e.same(index[static_cast<size_t>(axes.sequence)]))
            why = nameOf(op) + " depends on where a position lies";
        });
  return why;
}

std::vector<size_t> Positions::shapeOperands(const Op& op) const {
  std::vector<size_t> result;
  if (op.def->traits.view || !op.def->lower) return result;
  const std::unordered_set<size_t> loaded = loadedOperands(op, typesOf(op), inferred_);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const auto known = inferred_.contents.find(op.operands[i]);
    if (op.operands[i] == kNoValue || loaded.count(i) || known == inferred_.contents.end()) continue;
    if (std::any_of(known->second.begin(), known->second.end(), [&](Dim d) { return d && mentions(d); }))
      result.push_back(i);
  }
  return result;
}

std::optional<Shape> Positions::sizesOf(const Op& op) const {
  if (!op.def->traits.readsShape || op.results[0].type.rank() > 1) return std::nullopt;
  const auto known = inferred_.contents.find(op.results[0].id);
  if (known == inferred_.contents.end() || op.results[0].type.dtype() != Dtype::i64 ||
      std::any_of(known->second.begin(), known->second.end(), [](Dim d) { return !d; }))
    return std::nullopt;
  return known->second;
}

std::optional<std::vector<int64_t>> Positions::positionsRead(const Op& op, size_t operand) const {
  const Type type = types_.at(op.operands[operand]);
  const auto axes = axesOf(type);
  if (!axes || axes->joined() || !op.def->lower || !op.regions.empty()) return std::nullopt;
  OperandLoads context(op, typesOf(op), inferred_);
  std::vector<int64_t> positions;
  bool all = false;
  for (size_t i = 0; i < op.results.size() && !all; ++i) {
    if (!op.results[i].type.isTensor()) return std::nullopt;
    const Result<Expr> element =
        op.def->lower(context, static_cast<int>(i), context.indexOf(op.results[i].type));
    if (!element.ok()) return std::nullopt;
    forEachLoad(
        *element,
        [&](const Expr& load) {
          if (op.operands[context.operandOf(load.buffer())] != op.operands[operand]) return false;
          const Interval range = boundsOf(load.operands()[static_cast<size_t>(axes->sequence)], ir_.facts());
          if (!range.low || !range.high || *range.low < 0 || *range.high - *range.low >= kMostPositions)
            all = true;
          else
            for (int64_t s = *range.low; s <= *range.high; ++s) positions.push_back(s);
          return false;
        },
        [](const Expr&) {});
  }
  if (all) return std::nullopt;
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace dyn::passes
