#include "compiler/kernel/split_reduction.h"

#include <algorithm>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/expr_forms.h"

namespace dyn {

using loop::Expr;
using loop::ExprKind;

namespace {

// The only reduction; null where there are several, or none.
Expr onlyReduction(Expr root) {
  Expr found;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&root, 1))) {
    if (e.kind() == ExprKind::checked) return {};
    if (e.kind() != ExprKind::reduce) continue;
    if (!found.isNull()) return {};
    found = e;
  }
  return found;
}

}  // namespace

std::optional<SplitReduction> splitReduction(const LoopNest& nest) {
  if (nest.columns || nest.outputs.size() != 1) return std::nullopt;
  loop::LoopContext& loops = *nest.context;
  DimContext& dims = loops.dims();
  const Expr root = nest.outputs[0].element, reduction = onlyReduction(root);
  if (reduction.isNull() || reduction.reduceVariables().size() != 1) return std::nullopt;
  const Expr extent = reduction.operands()[0], variable = reduction.reduceVariables()[0],
             body = reduction.operands()[1];
  if (extent.kind() != ExprKind::dim && extent.kind() != ExprKind::intConstant) return std::nullopt;
  const Dim length = extent.kind() == ExprKind::dim ? extent.dimValue() : dims.constant(extent.intValue());
  if (length.isConstant() && *length.constant() <= kLongReduction) return std::nullopt;
  for (size_t axis = 0; axis < nest.index.size(); ++axis)
    if (!nest.space[axis].isConstant(1) && !mentions(reduction, nest.index[axis])) return std::nullopt;

  SplitReduction split;
  split.length = length;
  split.elements = elementCount(dims, nest.space);
  if (split.elements.isConstant() && *split.elements.constant() > kFewElements) return std::nullopt;
  split.partsDtype = reduction.dtype();
  const Dim count = ceilDiv(length, dims.constant(kPartLength));
  split.partsShape = nest.space;
  split.partsShape.insert(split.partsShape.begin(), count);

  const Expr part = loops.variable("b"), inPart = loops.variable("k"), start = part * kPartLength;
  loops.bound(part, loops.dim(count));
  split.parts = nest;
  split.parts.name += ".parts";
  split.parts.space = split.partsShape;
  split.parts.index.insert(split.parts.index.begin(), part);
  const Expr partLength = min(loops.integer(kPartLength), extent - start);
  split.parts.outputs[0] = {
      "p", split.partsDtype,
      loops.reduce(reduction.reduceOp(), {inPart}, {partLength}, loops.substitute(body, [&](Expr e) {
        return e.same(variable) ? start + inPart : Expr();
      }))};
  // A full reduction has no axis of its own that could say which way memory runs.
  if (nest.index.empty()) split.parts.schedule = NestSchedule::reductionsInLanes;

  std::vector<Expr> shape;
  for (Dim d : split.partsShape) shape.push_back(loops.dim(d));
  const loop::Buffer* parts =
      loops.buffer("parts", split.partsDtype, std::move(shape), loop::BufferRole::input);
  const Expr block = loops.variable("b");
  std::vector<Expr> index{block};
  index.insert(index.end(), nest.index.begin(), nest.index.end());
  const Expr joined =
      loops.reduce(reduction.reduceOp(), {block}, {loops.dim(count)}, loops.load(parts, std::move(index)));
  split.whole = nest;
  split.whole.inputs.push_back(parts);
  split.whole.outputs[0].element =
      loops.substitute(root, [&](Expr e) { return e.same(reduction) ? joined : Expr(); });
  return split;
}

}  // namespace dyn
