// Values between the elements of a grid: the elements around a place (taps) with their weights, for each
// axis, and their weighted sum.
//
//   std::vector<std::vector<LoweredTap>> along = ...;               // one list for each axis of operand 0
//   DYN_TRY(Expr sum, weightedSum(c, 0, along, Dtype::f32));        // over all combinations
#pragma once

#include <vector>

#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

// One element along one axis. `outside`: it counts as 0.
struct Tap {
  int64_t at = 0;
  double weight = 1;
  bool outside = false;
};
// All combinations of the taps of each axis, the last axis fastest; `at` is the row-major offset for these
// strides.
std::vector<Tap> combined(const std::vector<std::vector<Tap>>& along, std::span<const int64_t> strides);

struct LoweredTap {
  loop::Expr at;
  loop::Expr weight;  // a real, of one type in all taps; null: 1
  loop::Expr inside;  // null: it always is; else the element counts as 0 where it does not hold
};
// The sum of the weighted elements of operand `i`, in the type `computed`, not cast when nothing is weighted.
Result<loop::Expr> weightedSum(loop::LowerContext& c, int i,
                               const std::vector<std::vector<LoweredTap>>& along, Dtype computed);

// Keys' cubic convolution: the weight of an element `distance` away, for its parameter `a`.
double cubicWeight(double a, double distance);
loop::Expr cubicWeight(loop::LowerContext& c, double a, loop::Expr distance);  // f64

}  // namespace dyn
