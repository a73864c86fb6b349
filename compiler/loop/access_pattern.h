// How an access moves through memory with a variable of its index.
#pragma once

#include <span>

#include "compiler/loop/expr.h"

namespace dyn::loop {

bool mentions(Expr root, Expr variable);
// The variable, or a sum of it and something without it: what lies at the next index then comes next.
bool isShifted(Expr index, Expr variable);
// Does an access at `index` lie along `row` in memory, and across `column`: it moves by one element with the
// former, by whole rows with the latter?
bool readsAcross(std::span<const Expr> index, Expr row, Expr column);

}  // namespace dyn::loop
