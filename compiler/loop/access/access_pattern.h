// How an access moves through memory with a variable of its index.
#pragma once

#include <functional>
#include <span>

#include "compiler/loop/expr_forms.h"

namespace dyn::loop {

// The variable, or a sum of it and something without it: what lies at the next index then comes next.
bool isShifted(Expr index, Expr variable);
// Does an access at `index` lie along `row` in memory, and across `column`: it moves by one element with the
// former, by whole rows with the latter?
bool readsAcross(std::span<const Expr> index, Expr row, Expr column);
// A load from an axis that may have one element, in a vector loop: the lanes read that one, or neighbours,
// which the sizes of a run decide and not the compiler. Two loads instead, of which a condition on the sizes
// takes one:
//   x[u, select(m == 1, 0, i)]   →   select(m == 1, x[u, 0], x[u, i])
// `varies`: is the variable another one in each lane? Null: it is no such load.
Expr chosenLoads(Expr load, const std::function<bool(Expr)>& varies);

}  // namespace dyn::loop
