#include "compiler/kernel/nest_segments.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "compiler/loop/access/access_pattern.h"

namespace dyn {

using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::LoopContext;
using loop::mentions;

namespace {

constexpr size_t kMostPoints = 3;  // each is another loop of code
constexpr size_t kMostNodes = 96;  // of the roots: likewise

// A sum of dims and constants as a dim; null for anything else.
Dim segmentDimOf(Expr e, DimContext& dims) {
  if (e.kind() == ExprKind::dim) return e.dimValue();
  if (e.kind() == ExprKind::intConstant && e.dtype() == Dtype::i64) return dims.constant(e.intValue());
  if (e.kind() != ExprKind::binary) return {};
  const Dim a = segmentDimOf(e.operands()[0], dims);
  const Dim b = a ? segmentDimOf(e.operands()[1], dims) : Dim();
  if (!b) return {};
  switch (e.binaryOp()) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    default:
      return {};
  }
}

// What is added to the variable in `e` (loop::isShifted), as a dim; null where it is none.
Dim shiftOf(Expr e, Expr variable, DimContext& dims) {
  if (e.same(variable)) return dims.constant(0);
  if (!loop::isShifted(e, variable)) return {};
  const Expr left = e.operands()[0], right = e.operands()[1];
  const bool first = mentions(left, variable);
  const Dim inner = shiftOf(first ? left : right, variable, dims),
            outer = segmentDimOf(first ? right : left, dims);
  if (!inner || !outer) return {};
  return e.binaryOp() == BinaryOp::sub ? inner - outer : inner + outer;
}

// A comparison of the index: it holds below the point, or from there on.
struct Comparison {
  Dim point;
  bool holdsBelow = true;
};

std::optional<Comparison> comparisonOf(Expr e, Expr index, DimContext& dims) {
  if (e.kind() != ExprKind::binary || e.operands()[0].dtype() != Dtype::i64) return std::nullopt;
  if (e.binaryOp() != BinaryOp::less && e.binaryOp() != BinaryOp::lessEqual) return std::nullopt;
  const Expr left = e.operands()[0], right = e.operands()[1];
  const bool below = mentions(left, index);
  if (below == mentions(right, index)) return std::nullopt;
  const Dim shift = shiftOf(below ? left : right, index, dims),
            bound = segmentDimOf(below ? right : left, dims);
  if (!shift || !bound) return std::nullopt;
  // i + s < b: below b - s.  i + s <= b: below b - s + 1.  b < i + s: from b - s + 1 on.  b <= i + s: from b
  // - s on.
  const bool next = below == (e.binaryOp() == BinaryOp::lessEqual);
  const Dim point = bound - shift + (next ? 1 : 0);
  if (point.isInvalid()) return std::nullopt;
  return Comparison{point, below};
}

}  // namespace

std::vector<NestSegment> segmentsOf(const std::vector<Expr>& roots, Expr index, Dim extent,
                                    const DimSolver& facts, LoopContext& loops) {
  DimContext& dims = loops.dims();
  const Dim zero = dims.constant(0);
  const std::vector<NestSegment> whole{{zero, extent, roots}};
  const std::vector<Expr> nodes = loop::postorder(roots);
  if (nodes.size() > kMostNodes) return whole;
  std::vector<Dim> points;
  for (const Expr& e : nodes) {
    if (e.kind() == ExprKind::reduce || e.kind() == ExprKind::checked) return whole;
    const std::optional<Comparison> found = comparisonOf(e, index, dims);
    if (!found) continue;
    const Dim point = facts.canonical(found->point);
    // Comparisons that are the same everywhere: with nothing below 0, and with all below the extent.
    if (std::none_of(points.begin(), points.end(),
                     [&](Dim known) { return facts.equal(known, point) == Answer::yes; }))
      points.push_back(point);
  }
  if (points.empty() || points.size() > kMostPoints) return whole;
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t k = 0; k + 1 < points.size() - i; ++k)
      if (facts.lessEqual(points[k], points[k + 1]) != Answer::yes) std::swap(points[k], points[k + 1]);
  for (size_t i = 0; i + 1 < points.size(); ++i)
    if (facts.lessEqual(points[i], points[i + 1]) != Answer::yes) return whole;
  std::vector<NestSegment> segments;
  for (size_t i = 0; i <= points.size(); ++i) {
    const Dim begin = i == 0 ? zero : points[i - 1], end = i == points.size() ? extent : points[i];
    if (i > 0 && facts.lessEqual(extent, begin) == Answer::yes) continue;
    if (i < points.size() && facts.lessEqual(end, zero) == Answer::yes) continue;
    NestSegment segment{begin, end, {}};
    const std::function<Expr(Expr)> known = [&](Expr root) {
      return loops.substitute(root, [&](Expr e) -> Expr {
        const std::optional<Comparison> found = comparisonOf(e, index, dims);
        if (!found) return {};
        size_t at = 0;
        while (facts.equal(points[at], found->point) != Answer::yes) ++at;
        return loops.boolean((i <= at) == found->holdsBelow);
      });
    };
    for (const Expr& root : roots) segment.roots.push_back(known(root));
    segments.push_back(std::move(segment));
  }
  return segments.size() < 2 && points.size() > 1 ? whole : segments;
}

}  // namespace dyn
