#include "compiler/ops/reduce/moment_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

Moments momentsOf(const HostTensor& x, const FoldedAxes& folded) {
  Moments m;
  const std::vector<int64_t> shape = foldedShape(folded, x.shape());
  const size_t groups = static_cast<size_t>(sizeProduct(shape, 0, static_cast<int>(shape.size())));
  m.mean.assign(groups, 0);
  m.variance.assign(groups, 0);
  m.meanSquare.assign(groups, 0);
  std::vector<int64_t> counts(groups, 0);
  OffsetWalk walk(x.shape(), {foldedStrides(folded, x.shape())});
  for (int64_t i = 0; i < x.elementCount(); ++i, walk.next()) {
    const size_t at = static_cast<size_t>(walk.offset(0));
    m.group.push_back(walk.offset(0));
    m.mean[at] += x.realAt(i);
    m.meanSquare[at] += x.realAt(i) * x.realAt(i);
    ++counts[at];
  }
  for (size_t at = 0; at < groups; ++at) {
    m.mean[at] /= static_cast<double>(counts[at]);
    m.meanSquare[at] /= static_cast<double>(counts[at]);
  }
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const size_t at = static_cast<size_t>(m.group[static_cast<size_t>(i)]);
    const double centred = x.realAt(i) - m.mean[at];
    m.variance[at] += centred * centred;
  }
  for (size_t at = 0; at < groups; ++at) m.variance[at] /= static_cast<double>(counts[at]);
  return m;
}

Result<LoweredMoments> lowerMoments(LowerContext& c, std::span<const Dim> extents, Expr count, Dtype dtype,
                                    const ExprBody& read) {
  LoweredMoments m;
  const Expr divisor = castTo(count, dtype);
  DYN_TRY(Expr sum, reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
            DYN_TRY(Expr x, read(k));
            return castTo(x, dtype);
          }));
  m.mean = sum / divisor;
  DYN_TRY(Expr squares, reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
            DYN_TRY(Expr x, read(k));
            const Expr centred = castTo(x, dtype) - m.mean;
            return centred * centred;
          }));
  m.variance = squares / divisor;
  return m;
}

Result<LoweredMoments> lowerMoments(LowerContext& c, const FoldedAxes& folded, std::span<const Expr> at,
                                    Dtype dtype) {
  const Shape& dims = c.operandType(0).dims();
  Shape extents;
  for (int axis = 0; axis < folded.rank(); ++axis) {
    if (folded.contains(axis)) extents.push_back(dims[static_cast<size_t>(axis)]);
  }
  return lowerMoments(c, extents, foldedCount(c, folded), dtype,
                      [&](std::span<const Expr> k) -> Result<Expr> {
                        std::vector<Expr> full(at.begin(), at.end());
                        size_t next = 0;
                        for (int axis = 0; axis < folded.rank(); ++axis) {
                          if (folded.contains(axis) && next < k.size())
                            full[static_cast<size_t>(axis)] = k[next++];
                        }
                        return c.read(0, full);
                      });
}

}  // namespace dyn
