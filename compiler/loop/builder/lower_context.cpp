#include "compiler/loop/builder/lower_context.h"

#include "compiler/ir/op_def.h"

namespace dyn::loop {

Result<Expr> LowerContext::readBroadcast(int i, std::span<const Expr> index) {
  const Shape operand = operandType(i).dims();
  const Shape result = op().results[0].type.dims();
  if (operand.size() > index.size())
    return error(DiagnosticId::rankMismatch,
                 "operand " + std::to_string(i) + " has more axes than the element that is computed");
  const size_t skipped = index.size() - operand.size();
  std::vector<Expr> own;
  for (size_t axis = 0; axis < operand.size(); ++axis) {
    const Expr at = index[skipped + axis];
    const Dim size = operand[axis];
    // The result's axis this one lines up with, at the right; an index of another rank than the result's says
    // nothing of sizes.
    const Dim full = index.size() == result.size() ? result[skipped + axis] : Dim();
    if (solver().equal(size, size.context().constant(1)) == Answer::yes)
      own.push_back(integer(0));
    else if (full && solver().equal(size, full) == Answer::yes)
      own.push_back(at);
    else
      own.push_back(select(dim(size) == integer(1), integer(0), at));
  }
  return read(i, own);
}

Expr LowerContext::reduce(ReduceOp op, std::span<const Dim> extents,
                          const std::function<Expr(std::span<const Expr>)>& body) {
  std::vector<Expr> variables, sizes;
  for (Dim extent : extents) {
    sizes.push_back(dim(extent));
    variables.push_back(loops().variable("r"));
    loops().bound(variables.back(), sizes.back());
  }
  const Expr value = body(variables);
  if (extents.empty()) return value;
  return loops().reduce(op, std::move(variables), std::move(sizes), value);
}

Error LowerContext::error(DiagnosticId id, std::string message) const {
  Error e = makeError(id, std::move(message), op().place);
  if (op().def) e.diagnostic().op = std::string(op().def->name);
  return e;
}

}  // namespace dyn::loop
