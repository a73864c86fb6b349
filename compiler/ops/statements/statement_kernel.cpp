#include "compiler/ops/statements/statement_kernel.h"

#include <algorithm>
#include <iterator>

#include "compiler/ops/op_table.h"
#include "compiler/ops/statements/statement_rows.h"

namespace dyn {
namespace {

const StatementRow kRows[] = {
    {&ops::cumsumOp, makeRunning, 1},
    {&ops::cumprodOp, makeRunning, 1},
    {&ops::scatter_elementsOp, makeScatterElements},
    {&ops::scatter_ndOp, makeScatterNd},
    {&ops::topkOp, makeTopk},
};

const StatementRow* rowOf(const OpDef& def) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const StatementRow& candidate) { return candidate.def == &def; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool hasStatementKernel(const OpDef& def) { return rowOf(def) != nullptr; }

std::string statementRefusal(const Op& op, std::span<const Type> operandTypes,
                             const std::function<bool(int)>& contentsKnown) {
  const StatementRow& row = *rowOf(*op.def);
  const bool oneAxis = operandTypes[0].rank() == 1;  // it can be no other
  if (row.known && !oneAxis && !contentsKnown(*row.known))
    return "operand " + std::to_string(*row.known) + " is known only at run time";
  // Places are read as they are: of 32 or 64 bits.
  const auto isPlace = [](Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::i32; };
  const bool scatters = op.def == &ops::scatter_elementsOp || op.def == &ops::scatter_ndOp;
  if (scatters && !isPlace(operandTypes[1].dtype()))
    return "indices of " + std::string(toString(operandTypes[1].dtype()));
  return {};
}

Result<StatementKernel> makeStatementKernel(const StatementRequest& request) {
  const auto isKnown = [&](int operand) { return request.contents(operand).has_value(); };
  const std::string why = statementRefusal(request.op, request.operandTypes, isKnown);
  if (!why.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: " + std::string(request.op.def->name) + " in a kernel: " + why,
                     request.op.place);
  return rowOf(*request.op.def)->make(request);
}

}  // namespace dyn
