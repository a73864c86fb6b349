#include "compiler/passes/ragged/ragged_rows.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/op_def.h"
#include "compiler/passes/analysis/operand_loads.h"

namespace dyn::passes {

using loop::Expr;
using loop::ExprKind;

std::vector<int64_t> rowsFirst(Type type, const RowAxes& axes) {
  std::vector<int64_t> order;
  if (axes.batch >= 0) order.push_back(axes.batch);
  order.push_back(axes.position);
  for (int axis = 0; axis < type.rank(); ++axis)
    if (axis != axes.batch && axis != axes.position) order.push_back(axis);
  return order;
}

Shape behindRows(Type type, const RowAxes& axes) {
  Shape dims;
  for (int axis = 0; axis < type.rank(); ++axis)
    if (axis != axes.batch && axis != axes.position) dims.push_back(type.dims()[static_cast<size_t>(axis)]);
  return dims;
}

RaggedRows::RaggedRows(const InferredModule& inferred, Dim batch)
    : inferred_(inferred),
      ir_(*inferred.module.context),
      batch_(inferred.module.context->facts().canonical(batch)) {
  const Function& main = *inferred.module.main();
  for (const Parameter& p : main.parameters) types_[p.id] = p.type;
  for (const Op* op : main.ops)
    for (const ValueDef& r : op->results) types_[r.id] = r.type;
}

// The one name of a dim; max(0, len[b]) is len[b].
Dim RaggedRows::canonical(Dim d) const {
  const DimSolver& facts = ir_.facts();
  const Dim known = facts.canonical(d);
  if (known.kind() != DimKind::max) return known;
  for (Dim operand : known.operands())
    if (isRagged(operand) && facts.equal(operand, known) == Answer::yes) return operand;
  return known;
}

bool RaggedRows::hasLengths(Dim d) const {
  if (!d) return false;
  const std::vector<Dim> symbols = raggedSymbols(canonical(d));
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](Dim symbol) { return ir_.facts().canonical(raggedDim(symbol)->batch) == batch_; });
}

bool RaggedRows::mentions(Dim d) const {
  const Dim known = canonical(d);
  const std::vector<SymbolId> symbols = symbolsOf(known), ofBatch = symbolsOf(batch_);
  return hasLengths(known) || std::any_of(ofBatch.begin(), ofBatch.end(), [&](SymbolId s) {
           return std::binary_search(symbols.begin(), symbols.end(), s);
         });
}

RowAxes RaggedRows::axesOf(Type type) const {
  RowAxes axes;
  if (!type || !type.isTensor()) return axes;
  int batches = 0, positions = 0;
  bool strange = false;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const Dim d = canonical(type.dims()[static_cast<size_t>(axis)]);
    if (!mentions(d)) continue;
    if (hasLengths(d)) {
      ++positions;
      axes.position = axis;
      axes.length = d;
      for (Dim symbol : raggedSymbols(d)) strange |= canonical(raggedDim(symbol)->batch) != batch_;
    } else {
      ++batches;
      axes.batch = axis;
      strange |= d != batch_;
    }
  }
  if (positions == 0)
    axes.kind = batches == 0               ? RaggedKind::plain
                : batches == 1 && !strange ? RaggedKind::ofBatch
                                           : RaggedKind::plain;
  else if (strange || positions > 1 || batches > 1)
    axes.kind = RaggedKind::other;
  else
    axes.kind = batches == 1 ? RaggedKind::rows : RaggedKind::alone;
  axes.isFlat = axes.kind == RaggedKind::other && !strange && batches == 1;
  return axes;
}

Dim RaggedRows::elementsOfSequence(Type type) const {
  const int batch = axesOf(type).batch;
  Dim count = ir_.dims().constant(1);
  for (int axis = 0; axis < type.rank(); ++axis)
    if (axis != batch) count = count * canonical(type.dims()[static_cast<size_t>(axis)]);
  return count;
}

bool RaggedRows::isRaggedOp(const Op& op) const {
  const auto ragged = [&](Type type) {
    if (!type) return false;
    const std::vector<SymbolId> symbols = symbolsOf(type);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](SymbolId s) { return hasLengths(ir_.dims().symbolById(s)); });
  };
  for (const ValueDef& r : op.results)
    if (ragged(r.type)) return true;
  for (ValueId v : op.operands)
    if (v != kNoValue && ragged(types_.at(v))) return true;
  for (const auto& [name, value] : op.attributes.all())
    if (const Shape* dims = std::get_if<Shape>(&value);
        dims && std::any_of(dims->begin(), dims->end(), [&](Dim d) { return hasLengths(d); }))
      return true;
  return false;
}

const Contents* RaggedRows::contentsOf(ValueId v) const {
  const auto known = inferred_.contents.find(v);
  if (known == inferred_.contents.end() ||
      std::any_of(known->second.begin(), known->second.end(), [](Dim d) { return !d; }))
    return nullptr;
  return &known->second;
}

std::optional<Shape> RaggedRows::shapeOfRows(const Shape& dims, Dim length, Dim rows) const {
  Shape result;
  for (Dim d : dims) {
    const Dim known = canonical(d);
    if (!mentions(known)) {
      result.push_back(d);
    } else if (known == batch_) {
      result.push_back(ir_.dims().constant(1));
    } else if (known == length) {
      result.push_back(rows);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

std::vector<Type> RaggedRows::typesOf(const Op& op) const {
  std::vector<Type> types;
  for (ValueId v : op.operands) types.push_back(typeOf(v));
  return types;
}

std::string RaggedRows::whyNotByRow(const Op& op) const {
  if (op.results.empty() || !op.regions.empty() || op.def->cls == OpClass::structural || op.def->hasEffects)
    return "it is not an operation on elements";
  const RowAxes axes = axesOf(op.results[0].type);
  if (axes.kind != RaggedKind::rows && axes.kind != RaggedKind::alone)
    return axes.kind == RaggedKind::other
               ? "its result " + op.results[0].type.toString() + " is not made of rows"
               : "it looks across the positions of a sequence";
  for (const ValueDef& r : op.results) {
    const RowAxes other = axesOf(r.type);
    if (other.kind != axes.kind || other.length != axes.length) return "its results have other lengths";
  }
  for (const auto& [name, value] : op.attributes.all())
    if (const Shape* dims = std::get_if<Shape>(&value); dims && !shapeOfRows(*dims, axes.length, batch_))
      return "its attribute " + name + " joins sequences";
  if (op.def->traits.view) return byView(op);
  if (!op.def->lower) return "it is not known which other positions it reads";
  for (size_t i = 0; i < op.results.size(); ++i)
    if (std::string why = byLoads(op, i); !why.empty()) return why;
  for (size_t i : shapeOperands(op))
    if (!shapeOfRows(*contentsOf(op.operands[i]), axes.length, batch_)) return "its shape joins sequences";
  return "";
}

// The same elements in the same order: the axes stay what they are where as many elements stand before each.
std::string RaggedRows::byView(const Op& op) const {
  const Type from = types_.at(op.operands[0]), to = op.results[0].type;
  const RowAxes before = axesOf(from), after = axesOf(to);
  if (before.kind != after.kind || before.length != after.length) return "it does not keep the positions";
  const auto elementsBefore = [&](Type type, int axis) {
    const Shape& dims = type.dims();
    return elementCount(ir_.dims(), {dims.begin(), dims.begin() + axis});
  };
  const auto asMany = [&](int axis, int now) {
    return axis < 0 || ir_.facts().equal(elementsBefore(from, axis), elementsBefore(to, now)) == Answer::yes;
  };
  if (!asMany(before.batch, after.batch) || !asMany(before.position, after.position))
    return "it joins the positions with other axes";
  return "";
}

std::string RaggedRows::byLoads(const Op& op, size_t result) const {
  OperandLoads context(op, typesOf(op), inferred_);
  const RowAxes axes = axesOf(op.results[result].type);
  const std::vector<Expr> index = context.indexOf(op.results[result].type);
  const Result<Expr> element = op.def->lower(context, static_cast<int>(result), index);
  if (!element.ok()) return element.error().message;
  const auto isPlace = [&](const Expr& e, int axis) {
    return axis >= 0 && e.same(index[static_cast<size_t>(axis)]);
  };
  std::vector<Expr> pending{*element};
  std::unordered_set<uint32_t> seen;
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!seen.insert(e.id()).second) continue;
    if (isPlace(e, axes.batch) || isPlace(e, axes.position)) return "it depends on where a position lies";
    if (e.kind() == ExprKind::dim && mentions(e.dimValue()))
      return "it depends on how many positions there are";
    if (e.kind() != ExprKind::load) {
      for (const Expr& operand : e.operands()) pending.push_back(operand);
      continue;
    }
    const Type type = types_.at(op.operands[context.operandOf(e.buffer())]);
    const RowAxes of = axesOf(type);
    const auto own = [&](int axis, int resultAxis) {
      return axis < 0 || (resultAxis >= 0 && isElementOf(e.operands()[static_cast<size_t>(axis)],
                                                         index[static_cast<size_t>(resultAxis)],
                                                         type.dims()[static_cast<size_t>(axis)]));
    };
    if (of.kind == RaggedKind::other) return "its operand " + type.toString() + " is not made of rows";
    if (of.isRagged() && of.length != axes.length)
      return "it reads rows of the lengths " + of.length.toString() + ", its own are " +
             axes.length.toString();
    if (!own(of.batch, axes.batch) || !own(of.position, axes.position))
      return "it reads other positions than its own";
    for (int axis = 0; axis < type.rank(); ++axis)
      if (axis != of.batch && axis != of.position) pending.push_back(e.operands()[static_cast<size_t>(axis)]);
  }
  return "";
}

std::vector<size_t> RaggedRows::shapeOperands(const Op& op) const {
  std::vector<size_t> result;
  if (op.def->traits.view || !op.def->lower) return result;
  const std::unordered_set<size_t> loaded = loadedOperands(op, typesOf(op), inferred_);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Contents* known = op.operands[i] == kNoValue ? nullptr : contentsOf(op.operands[i]);
    if (known && loaded.count(i) == 0 &&
        std::any_of(known->begin(), known->end(), [&](Dim d) { return mentions(d); }))
      result.push_back(i);
  }
  return result;
}

}  // namespace dyn::passes
