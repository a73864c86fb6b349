#include "compiler/codegen/emit/device_tiles.h"

#include <unordered_map>

namespace dyn {
namespace {

using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::Stmt;
using loop::StmtKind;

bool mentions(Expr root, Expr part) {
  for (const Expr& e : loop::postorder(std::span(&root, 1)))
    if (e.same(part)) return true;
  return false;
}

bool isBinary(Expr e, BinaryOp op) { return e.kind() == ExprKind::binary && e.binaryOp() == op; }

// Statements of a body in order, blocks taken apart.
void flatten(const Stmt& stmt, std::vector<const Stmt*>& found) {
  for (const loop::StmtRef& child : stmt.children)
    if (child->kind == StmtKind::block)
      flatten(*child, found);
    else
      found.push_back(child.get());
}

// mod(u, blocks) of what a row's columns are; null: there are none, or several.
Expr columnBlock(Expr root, Expr unit) {
  Expr found;
  for (const Expr& e : loop::postorder(std::span(&root, 1))) {
    if (!isBinary(e, BinaryOp::mod) || !e.operands()[0].same(unit)) continue;
    if (!found.isNull() && !found.same(e)) return Expr();
    found = e;
  }
  return found;
}

}  // namespace

bool isFixed(Expr root) {
  for (const Expr& e : loop::postorder(std::span(&root, 1)))
    if (e.kind() == ExprKind::variable || e.kind() == ExprKind::load || e.kind() == ExprKind::call)
      return false;
  return true;
}

Expr mostTurns(Expr extent) {
  if (isFixed(extent)) return extent;
  if (isBinary(extent, BinaryOp::min))
    for (const Expr& part : extent.operands())
      if (isFixed(part)) return part;
  return Expr();
}

std::string knownAtLaunch(const loop::Kernel& kernel, Expr e) {
  if (e.isNull()) return "";
  if (e.kind() == ExprKind::intConstant) return std::to_string(e.intValue());
  if (e.kind() != ExprKind::dim) return "";
  for (size_t i = 0; i < kernel.scalars.size(); ++i)
    if (kernel.scalars[i] == e.dimValue()) return "#" + std::to_string(i);
  return "";
}

std::optional<TiledProduct> tiledProductOf(const loop::Kernel& kernel) {
  loop::LoopContext& loops = *kernel.context;
  std::vector<const Stmt*> body;
  flatten(*kernel.body, body);
  if (body.empty() || body.back()->kind != StmtKind::loop ||
      body.back()->loopKind != loop::LoopKind::vector || !kernel.scratch.empty())
    return std::nullopt;
  TiledProduct tile;
  tile.columns = body.back();
  // Lets are seen through: what rows and columns read is told by the unit and the column alone.
  std::unordered_map<uint32_t, Expr> lets;
  const auto through = [&](Expr e) {
    return loops.substitute(e, [&](Expr part) {
      const auto found = part.kind() == ExprKind::variable ? lets.find(part.id()) : lets.end();
      return found == lets.end() ? Expr() : found->second;
    });
  };
  const auto addLet = [&](const Stmt& s) { lets[s.variable.id()] = through(s.value); };
  for (size_t i = 0; i + 1 < body.size(); ++i) {
    if (body[i]->kind != StmtKind::let) return std::nullopt;
    addLet(*body[i]);
  }
  std::vector<const Stmt*> inside;
  flatten(*tile.columns, inside);
  for (const Stmt* s : inside) {
    if (s->kind == StmtKind::accumulate && !tile.sum)
      tile.sum = s;
    else if (s->kind == StmtKind::let && !tile.sum)
      addLet(*s);
    else if ((s->kind == StmtKind::store || s->kind == StmtKind::let) && tile.sum)
      tile.after.push_back(s);
    else
      return std::nullopt;
  }
  if (!tile.sum || tile.after.empty() || tile.sum->reduceOp != loop::ReduceOp::sum ||
      tile.sum->variables.size() != 1 || !tile.sum->children.empty() || !isFixed(tile.sum->extents[0]) ||
      tile.sum->value.dtype() != Dtype::f32 || !isBinary(tile.sum->value, BinaryOp::mul))
    return std::nullopt;

  const Expr unit = kernel.unit, column = tile.columns->variable;
  const Expr extent = through(tile.columns->extent);
  const Expr block = columnBlock(extent, unit);
  tile.blocks = block.isNull() ? loops.integer(1) : block.operands()[1];
  if (mostTurns(tile.columns->extent).isNull() || !isFixed(tile.blocks) ||
      (block.isNull() && mentions(extent, unit)))
    return std::nullopt;
  // In terms of the row and the block of columns instead of the unit.
  const Expr row = loops.variable("tile_row"), part = loops.variable("tile_block");
  const auto byRow = [&](Expr e) {
    return loops.substitute(through(e), [&](Expr x) {
      if (!block.isNull() && x.same(block)) return part;
      if (block.isNull() ? x.same(unit)
                         : isBinary(x, BinaryOp::floorDiv) && x.operands()[0].same(unit) &&
                               x.operands()[1].same(tile.blocks))
        return row;
      return Expr();
    });
  };
  const Expr first = tile.sum->value.operands()[0], second = tile.sum->value.operands()[1];
  const auto isOfRow = [&](Expr e) {
    const Expr seen = byRow(e);
    return !mentions(seen, column) && !mentions(seen, part) && !mentions(seen, unit);
  };
  if (!isOfRow(first) && !isOfRow(second)) return std::nullopt;
  tile.rowIsFirst = isOfRow(first);
  tile.rowPart = tile.rowIsFirst ? first : second;
  tile.columnPart = tile.rowIsFirst ? second : first;
  // The columns read the same for all rows, or for groups of them.
  Expr seen = byRow(tile.columnPart);
  if (mentions(seen, unit)) return std::nullopt;
  if (!mentions(seen, row)) return tile;
  for (const Expr& e : loop::postorder(std::span(&seen, 1))) {
    if (!isBinary(e, BinaryOp::floorDiv) || !e.operands()[0].same(row) || !isFixed(e.operands()[1])) continue;
    const Expr group = loops.variable("tile_group");
    const Expr without = loops.substitute(seen, [&](Expr x) { return x.same(e) ? group : Expr(); });
    if (mentions(without, row)) continue;
    tile.group = e.operands()[1];
    return tile;
  }
  return std::nullopt;
}

}  // namespace dyn
