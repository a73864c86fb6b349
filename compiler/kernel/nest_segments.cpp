#include "compiler/kernel/nest_segments.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/loop/access/access_pattern.h"

namespace dyn {

using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::LoopContext;
using loop::mentions;

namespace {

constexpr size_t kMostPoints = 128;  // where answers change; finding their order takes more with each
constexpr size_t kMostLoops = 64;    // of code
constexpr size_t kMostOfLoop = 96;   // nodes of the roots of one
constexpr size_t kMostNodes = 1024;  // of all together

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

// The points in their order, each once, and the place of each comparison among them.
class AnswerPoints {
 public:
  AnswerPoints(Expr index, const DimSolver& facts, DimContext& dims)
      : index_(index), facts_(facts), dims_(dims) {}

  // False where their order is not known, or they are too many.
  bool find(const std::vector<Expr>& nodes) {
    std::vector<std::pair<Expr, Comparison>> comparisons;
    for (const Expr& e : nodes)
      if (std::optional<Comparison> found = comparisonOf(e, index_, dims_)) {
        found->point = facts_.canonical(found->point);
        comparisons.emplace_back(e, *found);
        if (!insert(found->point)) return false;
      }
    for (size_t i = 0; i + 1 < points_.size(); ++i)
      if (facts_.lessEqual(points_[i], points_[i + 1]) != Answer::yes) return false;
    for (const auto& [e, comparison] : comparisons) {
      auto at = std::find(points_.begin(), points_.end(), comparison.point);
      if (at == points_.end())
        at = std::find_if(points_.begin(), points_.end(),
                          [&](Dim known) { return facts_.equal(known, comparison.point) == Answer::yes; });
      if (at == points_.end()) return false;
      places_[e.id()] = {static_cast<size_t>(at - points_.begin()), comparison.holdsBelow};
    }
    return true;
  }
  const std::vector<Dim>& points() const { return points_; }
  // What a comparison says between two points, of which the first has the place `begin - 1` and the second
  // `end`; nothing where it says the one and the other, or is no comparison of the index.
  std::optional<bool> answer(Expr e, size_t begin, size_t end) const {
    const auto found = places_.find(e.id());
    if (found == places_.end()) return std::nullopt;
    const auto& [place, holdsBelow] = found->second;
    if (place < begin) return !holdsBelow;
    if (place >= end) return holdsBelow;
    return std::nullopt;
  }

 private:
  bool insert(Dim point) {
    size_t low = 0, high = points_.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (points_[middle] == point || facts_.equal(points_[middle], point) == Answer::yes) return true;
      if (facts_.lessEqual(points_[middle], point) == Answer::yes)
        low = middle + 1;
      else
        high = middle;
    }
    points_.insert(points_.begin() + static_cast<std::ptrdiff_t>(low), point);
    return points_.size() <= kMostPoints;
  }

  Expr index_;
  const DimSolver& facts_;
  DimContext& dims_;
  std::vector<Dim> points_;
  std::map<uint32_t, std::pair<size_t, bool>> places_;  // by expression: of its point, holds below it
};

}  // namespace

std::vector<NestSegment> segmentsOf(const std::vector<Expr>& roots, Expr index, Dim extent,
                                    const DimSolver& facts, LoopContext& loops) {
  DimContext& dims = loops.dims();
  const Dim zero = dims.constant(0);
  const std::vector<NestSegment> whole{{zero, extent, roots}};
  const std::vector<Expr> nodes = loop::postorder(roots);
  for (const Expr& e : nodes)
    if (e.kind() == ExprKind::reduce || e.kind() == ExprKind::checked) return whole;
  AnswerPoints answers(index, facts, dims);
  if (nodes.size() > 2 * kMostNodes || !answers.find(nodes) || answers.points().empty()) return whole;
  // Beyond the most loops each takes several operands, and compares the index among these alone.
  const std::vector<Dim>& points = answers.points();
  const size_t each = points.size() / kMostLoops + 1;
  std::vector<NestSegment> segments;
  size_t count = 0;
  for (size_t at = 0; at <= points.size(); at += each) {
    const size_t last = std::min(at + each - 1, points.size());  // the place of the point where it ends
    const Dim begin = at == 0 ? zero : points[at - 1], end = last == points.size() ? extent : points[last];
    if (at > 0 && facts.lessEqual(extent, begin) == Answer::yes) continue;
    if (last < points.size() && facts.lessEqual(end, zero) == Answer::yes) continue;
    NestSegment segment{begin, end, {}};
    for (const Expr& root : roots)
      segment.roots.push_back(loops.substitute(root, [&](Expr e) -> Expr {
        const std::optional<bool> said = answers.answer(e, at, last);
        return said ? loops.boolean(*said) : Expr();
      }));
    const size_t nodesCount = loop::postorder(segment.roots).size();
    count += nodesCount;
    if (nodesCount > kMostOfLoop || count > kMostNodes) return whole;
    segments.push_back(std::move(segment));
  }
  return segments.size() < 2 && points.size() > 1 ? whole : segments;
}

}  // namespace dyn
