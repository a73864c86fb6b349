#include "compiler/passes/analysis/row_loads.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/passes/analysis/operand_loads.h"

namespace dyn::passes {

using loop::Expr;
using loop::ExprKind;

bool mentions(Dim d, SymbolId symbol) {
  const std::vector<SymbolId> symbols = symbolsOf(d);
  return std::binary_search(symbols.begin(), symbols.end(), symbol);
}

std::string whyRowsMix(const Op& op, size_t i, const std::optional<RowAxis>& axis,
                       const std::vector<Type>& types, const RowQuestion& question) {
  OperandLoads context(op, types, question.inferred);
  const std::vector<Expr> index = context.indexOf(op.results[i].type);
  const Result<Expr> element = op.def->lower(context, static_cast<int>(i), index);
  if (!element.ok()) return ": " + element.error().message;
  return whyElementMixes(
      *element, axis ? index[static_cast<size_t>(axis->axis)] : Expr(), axis,
      [&](const loop::Buffer* buffer) { return op.operands[context.operandOf(buffer)]; }, question);
}

std::string whyElementMixes(Expr element, Expr row, const std::optional<RowAxis>& axis,
                            const std::function<ValueId(const loop::Buffer*)>& valueOf,
                            const RowQuestion& question) {
  std::vector<Expr> pending{element};
  std::unordered_set<uint32_t> seen;
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!seen.insert(e.id()).second) continue;
    if (e.kind() == ExprKind::dim && question.rows && mentions(e.dimValue(), *question.rows))
      return " depends on how many there are";
    if (question.whereverTheyLie && axis && e.same(row)) return " depends on which row it is";
    std::optional<size_t> rowsAt;
    if (e.kind() == ExprKind::load) {
      const ValueId from = valueOf(e.buffer());
      if (question.isSize(from)) return " depends on how many there are";
      if (const auto rowsOf = question.axisOf(from)) {
        rowsAt = static_cast<size_t>(rowsOf->axis);
        if (!axis || axis->extent != rowsOf->extent ||
            !isElementOf(e.operands()[*rowsAt], row, rowsOf->extent))
          return " reads other rows than its own";
      }
    }
    const size_t first = e.kind() == ExprKind::checked && !question.looksAtChecks ? 1 : 0;
    for (size_t k = first; k < e.operands().size(); ++k)
      if (k != rowsAt) pending.push_back(e.operands()[k]);
  }
  return "";
}

}  // namespace dyn::passes
