// What a row's reduction and its last loop both compute is computed once.
//
//   accumulate s = sum over k { exp(x[u, k] - m) }          for k { y[u, k] = exp(x[u, k] - m) }
//   for i { y[u, i] = exp(x[u, i] - m) * (1 / s) }    →     accumulate s = sum over k { y[u, k] }
//                                                           for i { y[u, i] = y[u, i] * (1 / s) }
//
// The row of the result holds the common part until the last loop overwrites it. It is done only where the
// part costs more than a store and a load (a function like exp, or a division) and has the result's dtype,
// and where the last loop stores the whole row of one result.
//
// Likewise numbers that are rounded to f16 or bf16 before a row's reductions, once for all of these, in the
// row of any result that has their dtype or that they are widened to:
//
//   accumulate s = sum over k { f32(f16(x[u, k]) + b[k]) }  ...     →     for k { y[u, k] = f32(f16(x[u, k]) + b[k]) }
//                                                                         accumulate s = sum over k { y[u, k] }  ...
#pragma once

#include "compiler/loop/kernel.h"

namespace dyn {

// `statements` are those of one unit, in order; the last is the loop over the row.
void keepRows(loop::LoopContext& loops, std::vector<loop::StmtRef>& statements);

// Does it go over a row of so many elements by one variable, with nothing else inside?
bool accumulatesRow(const loop::Stmt& sum, loop::Expr extent);

// The largest part of `reduced` that depends on `variable`, is worth keeping, and stands in `stored` too once
// `variable` is called `other`; null: there is none of this type.
loop::Expr costlyCommonPart(loop::LoopContext& loops, loop::Expr reduced, loop::Expr variable,
                            loop::Expr stored, loop::Expr other, Dtype dtype);

}  // namespace dyn
