// Fewer terms for the same value, where parts that were taken from one dim come together again: what slices
// and paddings leave behind when their results are joined.
//
//   min(3, n) + max(0, n - 3)  → n                        (a roll: two slices and a concat)
//   n + mod(-n, 7)             → 7*floordiv(n + 6, 7)     (padded to whole windows)
//
// Equal for all integers. It is no part of the canonical form, for there such rewrites would depend on the
// order in which a sum was made.
#pragma once

#include <span>

#include "compiler/dims/dim_solver.h"

namespace dyn {

Dim compact(Dim dim);

// What is left of a value with its first element put before it, behind the first of both:
//   max(0, n + min(1, n) - 1)  → n        where n >= 0
// Other dims stay as they are.
Dim withoutFirst(Dim dim, const DimSolver& facts);

// The sum of one or more dims, without a node for each sum on the way.
Dim sumOf(std::span<const Dim> dims);

}  // namespace dyn
