// Means and variances, which all normalisations are made of: in reference evaluation and as two reductions of loop IR.
#pragma once

#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

// By folded group: mean and population variance (two passes); `stat(i)` is the group of flat element i.
struct Moments {
  std::vector<double> mean, variance, meanSquare;
  std::vector<int64_t> group;  // of each flat element
};
Moments momentsOf(const HostTensor& x, const FoldedAxes& folded);

struct LoweredMoments {
  loop::Expr mean, variance;
};
// Of read(variables) over the extents, `count` elements as an i64; computed in `dtype`.
Result<LoweredMoments> lowerMoments(loop::LowerContext& c, std::span<const Dim> extents, loop::Expr count,
                                    Dtype dtype, const ExprBody& read);
// Of operand 0 over the folded axes, `at` being an index of it.
Result<LoweredMoments> lowerMoments(loop::LowerContext& c, const FoldedAxes& folded,
                                    std::span<const loop::Expr> at, Dtype dtype);

}  // namespace dyn
