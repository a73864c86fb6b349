#include "compiler/kernel/nest_runs.h"

#include <algorithm>

#include "compiler/kernel/nest_choice.h"
#include "compiler/loop/access/access_pattern.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::ExprKind;
using loop::LoopContext;
using loop::mentions;

namespace {

constexpr int64_t kLongRow = 256;  // elements of a row for which a loop of its own costs little
constexpr int64_t kFewRows = 64;   // rows of a few elements that are done one by one

class RunFinder {
 public:
  RunFinder(NestAxes& axes, const DimSolver& facts, LoopContext& loops)
      : axes_(axes), facts_(facts), loops_(loops), width_(axes.space.back()), lane_(axes.index.back()) {
    row_ = axes.index[axes.index.size() - 2];
  }

  std::optional<std::vector<NestRun>> take() {
    const std::vector<NestSegment> segments =
        segmentsOf(axes_.roots, row_, axes_.space[axes_.space.size() - 2], facts_, loops_);
    std::vector<NestRun> runs;
    bool readsRun = false;
    for (const NestSegment& segment : segments) {
      const bool run = isRun(segment.roots);
      if (!run && areRowsShort() && !isFew(segment)) return std::nullopt;
      readsRun |= run && reads(segment.roots);
      runs.push_back({segment, run});
    }
    if (!readsRun) return std::nullopt;
    merge(runs);
    return runs;
  }

 private:
  // Rows that a loop along the other axis makes in few iterations.
  bool areRowsShort() const { return width_.isConstant() && *width_.constant() <= kShortStride; }
  bool isFew(const NestSegment& segment) const {
    const Dim count = facts_.canonical(segment.end - segment.begin);
    return count.isConstant() && *count.constant() <= kFewRows;
  }

  bool isOfAxes(Expr e) const { return mentions(e, row_) || mentions(e, lane_); }
  // Does the load read x[..., row + shift, lane], where rows have as many elements as the nest's?
  bool readsAsItLies(Expr load) const {
    const auto at = load.operands();
    if (load.kind() != ExprKind::load || at.size() < 2 || !at.back().same(lane_)) return false;
    const Expr row = at[at.size() - 2];
    if (!loop::isShifted(row, row_) || mentions(row, lane_) || !hasWidth(load.buffer())) return false;
    return std::none_of(at.begin(), at.end() - 2, [&](Expr e) { return isOfAxes(e); });
  }
  bool hasWidth(const Buffer* buffer) const {
    const Expr size = buffer->shape.back();
    if (size.kind() == ExprKind::intConstant) return width_.isConstant(size.intValue());
    return size.kind() == ExprKind::dim && facts_.equal(size.dimValue(), width_) == Answer::yes;
  }
  bool isRun(const std::vector<Expr>& roots) const {
    for (const Expr& root : roots) {
      const Expr rest = loops_.substitute(root, [&](Expr e) {
        if (!readsAsItLies(e)) return Expr();
        const std::vector<Expr> first(e.operands().size(), loops_.integer(0));
        return loops_.load(e.buffer(), first);
      });
      if (isOfAxes(rest)) return false;
    }
    return true;
  }
  bool reads(const std::vector<Expr>& roots) const {
    const std::vector<Expr> nodes = loop::postorder(roots);
    return std::any_of(nodes.begin(), nodes.end(), [&](Expr e) { return readsAsItLies(e); });
  }

  // What some run reads as it lies gets one axis for its last two, wherever it is read.
  void merge(std::vector<NestRun>& runs) {
    std::vector<std::pair<const Buffer*, const Buffer*>> views;
    const auto viewOf = [&](const Buffer* buffer) -> const Buffer* {
      for (const auto& [whole, view] : views)
        if (whole == buffer) return view;
      return nullptr;
    };
    for (const NestRun& run : runs)
      for (const Expr& e : loop::postorder(run.segment.roots)) {
        if (!run.isRun || !readsAsItLies(e) || viewOf(e.buffer())) continue;
        std::vector<Expr> shape = e.buffer()->shape;
        const Expr width = shape.back();
        shape.pop_back();
        shape.back() = shape.back() * width;
        views.emplace_back(e.buffer(), loops_.view(e.buffer(), std::move(shape)));
      }
    const auto merged = [&](std::vector<Expr>& roots) {
      for (Expr& root : roots) root = withViews(root, viewOf);
    };
    for (NestRun& run : runs) merged(run.segment.roots);
    merged(axes_.roots);
    for (const Buffer*& input : axes_.inputs)
      if (const Buffer* view = viewOf(input)) input = view;
  }
  template <typename ViewOf>
  Expr withViews(Expr root, const ViewOf& viewOf) {
    return loops_.substitute(root, [&](Expr e) {
      const Buffer* view = e.kind() == ExprKind::load ? viewOf(e.buffer()) : nullptr;
      if (!view) return Expr();
      std::vector<Expr> at;
      for (const Expr& place : e.operands()) at.push_back(withViews(place, viewOf));
      const Expr inner = at.back();
      at.pop_back();
      at.back() = at.back() * e.buffer()->shape.back() + inner;
      return loops_.load(view, std::move(at));
    });
  }

  NestAxes& axes_;
  const DimSolver& facts_;
  LoopContext& loops_;
  const Dim width_;
  const Expr lane_;
  Expr row_;
};

}  // namespace

std::optional<std::vector<NestRun>> takeRuns(NestAxes& axes, const DimSolver& facts, LoopContext& loops) {
  if (axes.index.size() < 2) return std::nullopt;
  const Dim width = axes.space.back();
  if (width.isConstant() && (*width.constant() < 1 || *width.constant() >= kLongRow)) return std::nullopt;
  for (const Expr& e : loop::postorder(axes.roots))
    if (e.kind() == ExprKind::reduce || e.kind() == ExprKind::checked || e.kind() == ExprKind::call)
      return std::nullopt;
  if (axisReadAcross(axes)) return std::nullopt;
  return RunFinder(axes, facts, loops).take();
}

std::vector<NestSegment> joinRuns(NestAxes& axes, const std::vector<NestRun>& runs, LoopContext& loops) {
  const Dim width = axes.space.back(), both = axes.space[axes.space.size() - 2] * width;
  const Expr lane = axes.index.back(), row = axes.index[axes.index.size() - 2], place = loops.variable("i");
  std::vector<NestSegment> segments;
  for (const NestRun& run : runs) {
    segments.push_back({run.segment.begin * width, run.segment.end * width, {}});
    // Row 0, from which on any place is read as it lies.
    for (const Expr& root : run.segment.roots)
      segments.back().roots.push_back(loops.substitute(root, [&](Expr e) {
        return e.same(row) ? loops.integer(0) : e.same(lane) ? place : Expr();
      }));
  }
  segments.front().begin = loops.dims().constant(0);
  segments.back().end = both;
  axes.index.pop_back();
  axes.space.pop_back();
  axes.index.back() = place;
  axes.space.back() = both;
  axes.roots = segments.front().roots;
  return segments;
}

}  // namespace dyn
