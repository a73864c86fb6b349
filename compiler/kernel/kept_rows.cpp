#include "compiler/kernel/kept_rows.h"

#include <unordered_set>

namespace dyn {

using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtRef;

namespace {

bool isCostly(Expr e) {
  if (e.kind() == ExprKind::binary)
    return isReal(e.dtype()) && (e.binaryOp() == loop::BinaryOp::div || e.binaryOp() == loop::BinaryOp::pow);
  if (e.kind() != ExprKind::unary) return false;
  switch (e.unaryOp()) {
    case loop::UnaryOp::neg:
    case loop::UnaryOp::abs:
    case loop::UnaryOp::sign:
    case loop::UnaryOp::floor:
    case loop::UnaryOp::ceil:
    case loop::UnaryOp::round:
    case loop::UnaryOp::trunc:
      return false;
    default:
      return isReal(e.dtype());
  }
}

bool holds(Expr root, Expr part) {
  for (const Expr& e : loop::postorder(std::span<const Expr>(&root, 1)))
    if (e.same(part)) return true;
  return false;
}

// The one store of a loop over a row, whose last index is the loop's variable and whose other indices are
// not.
const Stmt* storeOfRow(const Stmt& loopOfRow) {
  if (loopOfRow.kind != StmtKind::loop || loopOfRow.loopKind != LoopKind::vector) return nullptr;
  const Stmt* body = loopOfRow.children.at(0).get();
  if (body->kind == StmtKind::block) {
    if (body->children.size() != 1) return nullptr;
    body = body->children[0].get();
  }
  if (body->kind != StmtKind::store || body->index.empty()) return nullptr;
  if (!body->index.back().same(loopOfRow.variable)) return nullptr;
  for (size_t axis = 0; axis + 1 < body->index.size(); ++axis)
    if (holds(body->index[axis], loopOfRow.variable)) return nullptr;
  return body;
}

Expr replaced(loop::LoopContext& loops, Expr root, Expr part, Expr by) {
  return loops.substitute(root, [&](Expr e) { return e.same(part) ? by : Expr(); });
}

// The largest part of `reduced` that depends on `variable`, is worth keeping, and stands in `stored` too once
// `variable` is called `other`. Parts come operands first, so the last that fits is a largest one.
Expr commonPart(loop::LoopContext& loops, Expr reduced, Expr variable, Expr stored, Expr other, Dtype dtype) {
  std::unordered_set<uint32_t> inStored;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&stored, 1))) inStored.insert(e.id());
  Expr best;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&reduced, 1))) {
    if (e.dtype() != dtype || !holds(e, variable)) continue;
    bool costly = false;
    for (const Expr& part : loop::postorder(std::span<const Expr>(&e, 1)))
      costly |= isCostly(part) && holds(part, variable);
    if (costly && inStored.contains(replaced(loops, e, variable, other).id())) best = e;
  }
  return best;
}

}  // namespace

void keepRows(loop::LoopContext& loops, std::vector<StmtRef>& statements) {
  if (statements.size() < 2) return;
  const Stmt row = *statements.back();
  const Stmt* store = storeOfRow(row);
  if (!store) return;
  // Only the last accumulation before the loop: what an earlier one keeps there a later one could not.
  const size_t position = statements.size() - 2;
  const Stmt sum = *statements[position];
  if (sum.kind != StmtKind::accumulate || sum.variables.size() != 1 || sum.loopKind != LoopKind::vector)
    return;
  if (!sum.extents[0].same(row.extent)) return;
  for (const StmtRef& child : sum.children)
    if (child->kind != StmtKind::block || !child->children.empty()) return;
  const Expr k = sum.variables[0];
  const Expr part = commonPart(loops, sum.value, k, store->value, row.variable, store->buffer->dtype);
  if (part.isNull()) return;

  std::vector<Expr> index = store->index;
  const Expr fresh = loops.variable("k");
  loops.bound(fresh, row.extent);
  index.back() = fresh;
  StmtRef kept = loop::store(store->buffer, index, replaced(loops, part, k, fresh));
  StmtRef keeping = loop::loopOver(fresh, row.extent, LoopKind::vector, loop::block({std::move(kept)}));
  index.back() = k;
  Stmt newSum = sum;
  newSum.value = replaced(loops, sum.value, part, loops.load(store->buffer, index));
  const Expr inRow = replaced(loops, part, k, row.variable);
  StmtRef last = loop::store(store->buffer, store->index,
                             replaced(loops, store->value, inRow, loops.load(store->buffer, store->index)));
  statements.pop_back();
  statements.pop_back();
  statements.push_back(std::move(keeping));
  statements.push_back(std::make_shared<Stmt>(std::move(newSum)));
  statements.push_back(
      loop::loopOver(row.variable, row.extent, LoopKind::vector, loop::block({std::move(last)})));
}

}  // namespace dyn
