#include "compiler/loop/access/access_pattern.h"

namespace dyn::loop {

bool isShifted(Expr index, Expr variable) {
  if (index.same(variable)) return true;
  if (index.kind() != ExprKind::binary || index.dtype() != Dtype::i64) return false;
  const Expr left = index.operands()[0], right = index.operands()[1];
  if (index.binaryOp() == BinaryOp::add)
    return (isShifted(left, variable) && !mentions(right, variable)) ||
           (isShifted(right, variable) && !mentions(left, variable));
  return index.binaryOp() == BinaryOp::sub && isShifted(left, variable) && !mentions(right, variable);
}

bool readsAcross(std::span<const Expr> index, Expr row, Expr column) {
  if (index.empty() || !isShifted(index.back(), row) || mentions(index.back(), column)) return false;
  int steps = 0;
  for (size_t axis = 0; axis + 1 < index.size(); ++axis) {
    if (mentions(index[axis], row)) return false;
    if (!mentions(index[axis], column)) continue;
    if (!isShifted(index[axis], column)) return false;
    ++steps;
  }
  return steps == 1;
}

namespace {

bool anyVariable(Expr root, const std::function<bool(Expr)>& is) {
  for (const Expr& e : postorder(std::span<const Expr>(&root, 1)))
    if (e.kind() == ExprKind::variable && is(e)) return true;
  return false;
}

bool isOfSizes(Expr root) {
  for (const Expr& e : postorder(std::span<const Expr>(&root, 1)))
    if (e.kind() != ExprKind::dim && e.kind() != ExprKind::intConstant && e.kind() != ExprKind::binary)
      return false;
  return true;
}

}  // namespace

Expr chosenLoads(Expr load, const std::function<bool(Expr)>& varies) {
  for (const Expr& place : load.operands())
    for (const Expr& part : postorder(std::span<const Expr>(&place, 1))) {
      if (part.kind() != ExprKind::select || !isOfSizes(part.operands()[0])) continue;
      const Expr first = part.operands()[1], second = part.operands()[2];
      if (anyVariable(first, varies) == anyVariable(second, varies)) continue;
      LoopContext& loops = load.context();
      const auto with = [&](Expr arm) {
        return loops.substitute(load, [&](Expr e) { return e.same(part) ? arm : Expr(); });
      };
      return loops.select(part.operands()[0], with(first), with(second));
    }
  return {};
}

}  // namespace dyn::loop
