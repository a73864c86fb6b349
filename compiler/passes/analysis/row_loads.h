// Does an element of a result read rows of its operands other than its own? Asked of the operator's
// definition in loops.
//
//   y[b, j] = sum(k, x[b, k] * w[k, j])     "": every load of a value with rows is at the row of the result
//   y[b, j] = x[b, j] / x[0, j]             "reads other rows than its own"
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/loop/expr.h"
#include "compiler/passes/analysis/batch_independence.h"

namespace dyn::passes {

struct RowQuestion {
  const InferredModule& inferred;
  std::optional<SymbolId> rows;                           // nullopt: their number is a constant
  std::function<std::optional<RowAxis>(ValueId)> axisOf;  // nullopt: a value without rows
  std::function<bool(ValueId)> isSize;                    // is it computed from the number of rows?
  // Rows that are moved to another number must come out the same, too.
  bool whereverTheyLie = false;
  bool looksAtChecks = true;  // also at what they demand, which changes no value
};

// "" or what is wrong with result `i` of `op`, whose rows lie along `axis`: words for behind the operation's
// name. `types`: of the operands, null where one is left out.
std::string whyRowsMix(const Op& op, size_t i, const std::optional<RowAxis>& axis,
                       const std::vector<Type>& types, const RowQuestion& question);

// The same of one element of a result. `row`: the index along `axis`, null without rows; `valueOf`: what a
// load reads.
std::string whyElementMixes(loop::Expr element, loop::Expr row, const std::optional<RowAxis>& axis,
                            const std::function<ValueId(const loop::Buffer*)>& valueOf,
                            const RowQuestion& question);

// Does the symbol stand in the dim?
bool mentions(Dim d, SymbolId symbol);

}  // namespace dyn::passes
