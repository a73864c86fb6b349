#include "compiler/passes/padding/mask_zeros.h"

#include <array>

#include "compiler/loop/expr_forms.h"
#include "compiler/passes/analysis/element_bounds.h"
#include "compiler/passes/analysis/element_composer.h"

namespace dyn::passes {

using loop::Expr;
using loop::ExprKind;

Expr zeroWhereNot(Expr c) {
  while (c.kind() == ExprKind::checked) c = c.operands()[1];
  if (c.kind() == ExprKind::cast && isInteger(c.operands()[0].dtype())) return c.operands()[0];
  if (isBinary(c, loop::BinaryOp::notEqual) && isInteger(c.operands()[0].dtype()) && isZero(c.operands()[1]))
    return c.operands()[0];
  return {};
}

namespace {

// Of an element of a mask at a key: is it that of a key which counts, whatever else?
bool showsKey(const Expr& e, const MaskedAttention& site) {
  if (site.bias != kNoValue) return e.kind() == ExprKind::realConstant && e.realValue() > kMaskedBias;
  return e.kind() == ExprKind::intConstant && (e.intValue() != 0) != site.allowedIsNot;
}

}  // namespace

// A condition in the mask's element that makes the key count where it holds; where it does not, the value
// must be 0.
bool isZeroWhereMasked(const InferredModule& inferred, const MaskedAttention& site, ValueId value) {
  if ((site.allowed == kNoValue) == (site.bias == kNoValue)) return false;
  const auto types = typesIn(*inferred.module.main());
  const auto makers = makersIn(*inferred.module.main());
  const DimSolver& facts = inferred.module.context->facts();
  ElementComposer composer(inferred, makers, types);
  loop::LoopContext& loops = composer.loops();
  const Expr row = loops.variable("b"), position = loops.variable("s");
  loops.bound(row, loops.dim(site.batch));
  loops.bound(position, loops.dim(site.sequence));
  const auto elementOf = [&](ValueId v) {
    std::vector<Expr> index;
    for (Dim d : types.at(v).dims()) {
      const Dim size = facts.canonical(d);
      index.push_back(size == site.batch ? row : size == site.sequence ? position : loops.integer(0));
      if (size != site.batch && size != site.sequence && !size.isConstant(1))
        index.back() = loops.variable("i");
    }
    return composer.element(v, index);
  };
  // Of a mask that is expanded any head and query will do: they are all the same. A causal one shows the key
  // to its own query and those behind it.
  const ValueId mask = site.bias != kNoValue ? site.bias : site.allowed;
  const bool byQuery = !types.at(mask).dims()[2].isConstant(1);
  const Expr query = byQuery ? loops.variable("i") : loops.integer(0), apart = loops.variable("t");
  for (const Expr& variable : {query, apart})
    if (variable.kind() == ExprKind::variable) loops.bound(variable, loops.dim(site.sequence));
  const std::array<Expr, 4> place{row, loops.integer(0), query, position};
  Result<Expr> holds = composer.element(mask, place), element = elementOf(value);
  if (!holds.ok() || !element.ok()) return false;
  const auto with = [&](const Expr& e, const Expr& part, const Expr& instead) {
    return loops.substitute(e, [&](Expr now) -> Expr { return now.same(part) ? instead : Expr(); });
  };
  const Expr any = decided(*holds, facts), made = decided(*element, facts);
  const Expr shown = !byQuery                    ? any
                     : site.window || site.pairs ? decided(with(any, query, position), facts)
                     : site.causal               ? decided(with(any, query, position + apart), facts)
                                                 : any;
  for (const Expr& condition : loop::postorder(std::span(&shown, 1))) {
    if (condition.dtype() != Dtype::boolean || condition.kind() == ExprKind::intConstant ||
        !showsKey(with(shown, condition, loops.boolean(true)), site))
      continue;
    if (isZero(with(made, condition, loops.boolean(false)))) return true;
    Expr zero = zeroWhereNot(condition);
    const bool square =
        !zero.isNull() && isBinary(zero, loop::BinaryOp::mul) && zero.operands()[0].same(zero.operands()[1]);
    if (square) zero = zero.operands()[0];
    if (!zero.isNull() && isZero(with(made, zero, loops.integer(0, zero.dtype())))) return true;
  }
  return false;
}

}  // namespace dyn::passes
