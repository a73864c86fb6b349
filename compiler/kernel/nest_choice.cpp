#include "compiler/kernel/nest_choice.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/kernel/nest_scopes.h"
#include "compiler/loop/access/access_pattern.h"

namespace dyn {

using loop::Expr;
using loop::ExprKind;
using loop::mentions;

namespace {

constexpr int64_t kShortestReduction = 8;  // that is worth a vector
constexpr size_t kWorthSharing = 24;       // operations that elements share, worth walking across memory
constexpr size_t kSlowOperation = 10;      // as many: a root, a quotient

std::optional<int64_t> constantOf(Expr e) {
  if (e.kind() == ExprKind::dim) return e.dimValue().constant();
  return e.kind() == ExprKind::intConstant ? std::optional(e.intValue()) : std::nullopt;
}

// Quotients and square roots of reals are made one after the other by the processor.
bool isSlow(Expr e) {
  const bool slow = (e.kind() == ExprKind::binary && e.binaryOp() == loop::BinaryOp::div) ||
                    (e.kind() == ExprKind::unary && e.unaryOp() == loop::UnaryOp::sqrt);
  return slow && isReal(e.dtype());
}

bool holdsSlow(Expr root) {
  const std::vector<Expr> nodes = loop::postorder(std::span(&root, 1));
  return std::any_of(nodes.begin(), nodes.end(), isSlow);
}

}  // namespace

bool reductionsRunAlongMemory(const NestAxes& axes) {
  const Expr innermost = axes.index.back();
  int64_t alongReduction = 0, alongAxis = 0;
  bool areWindows = true;  // of a few elements: they fill no vector
  for (const Expr& e : loop::postorder(axes.roots)) {
    if (e.kind() != ExprKind::reduce || !mentions(e, innermost)) continue;
    const Expr last = e.reduceVariables().back();
    const std::optional<int64_t> length = constantOf(e.operands()[e.reduceVariables().size() - 1]);
    areWindows = areWindows && length && *length < kShortestReduction;
    for (const Expr& part : loop::postorder(std::span<const Expr>(&e, 1))) {
      if (part.kind() != ExprKind::load || part.operands().empty()) continue;
      if (mentions(part.operands().back(), last)) ++alongReduction;
      if (mentions(part.operands().back(), innermost)) ++alongAxis;
    }
  }
  return alongReduction > alongAxis && !(areWindows && alongAxis > 0);
}

bool hasReductionOver(const NestAxes& axes, Expr variable) {
  for (const Expr& e : loop::postorder(axes.roots))
    if (e.kind() == ExprKind::reduce && mentions(e, variable)) return true;
  return false;
}

size_t fewestReductionAxes(const NestAxes& axes) {
  size_t fewest = axes.index.size();
  for (const Expr& e : loop::postorder(axes.roots)) {
    if (e.kind() != ExprKind::reduce) continue;
    size_t own = axes.index.size();
    while (own > 0 && !mentions(e, axes.index[own - 1])) --own;
    fewest = std::min(fewest, own);
  }
  return fewest;
}

std::optional<std::vector<size_t>> axesOfReductions(const NestAxes& axes) {
  std::optional<std::vector<size_t>> common;
  for (const Expr& e : loop::postorder(axes.roots)) {
    if (e.kind() != ExprKind::reduce) continue;
    std::vector<size_t> own;
    for (size_t axis = 0; axis < axes.index.size(); ++axis)
      if (mentions(e, axes.index[axis])) own.push_back(axis);
    if (common && *common != own) return std::nullopt;
    common = std::move(own);
  }
  if (!common || axes.index.empty() || (!common->empty() && common->back() + 1 == axes.index.size()))
    return std::nullopt;
  return common;
}

size_t outerReductionAxes(const NestAxes& axes, size_t axis) {
  return static_cast<size_t>(std::count_if(axes.index.begin(),
                                           axes.index.begin() + static_cast<std::ptrdiff_t>(axis),
                                           [&](Expr index) { return hasReductionOver(axes, index); }));
}

size_t lastReductionAxis(const NestAxes& axes) {
  for (size_t axis = axes.index.size(); axis-- > 0;)
    if (hasReductionOver(axes, axes.index[axis])) return axis;
  return axes.index.size();
}

Dim oneRowLength(const NestAxes& axes, size_t vectorAxis, const DimSolver& facts, DimContext& dims) {
  Dim common;
  const auto same = [&](Dim length) {
    if (!length || (common && facts.equal(common, length) != Answer::yes)) return false;
    common = length;
    return true;
  };
  for (const Expr& e : loop::postorder(axes.roots)) {
    if (e.kind() != ExprKind::reduce) continue;
    const Expr extent = e.operands()[0];
    if (e.reduceVariables().size() != 1 ||
        !same(extent.kind() == ExprKind::dim           ? extent.dimValue()
              : extent.kind() == ExprKind::intConstant ? dims.constant(extent.intValue())
                                                       : Dim()))
      return {};
  }
  for (size_t axis = vectorAxis + 1; axis < axes.space.size(); ++axis)
    if (!axes.space[axis].isConstant(1) && !same(axes.space[axis])) return {};
  return common;
}

std::optional<size_t> axisReadAcross(const NestAxes& axes) {
  std::vector<int> reads(axes.index.size(), 0);
  const Expr innermost = axes.index.back();
  for (const Expr& root : axes.roots)
    for (const NestPart& part : partsOf(root)) {
      const auto at = part.expr.operands();
      if (part.expr.kind() != ExprKind::load || !part.always || at.size() < 2) continue;
      for (size_t axis = 0; axis + 1 < axes.index.size(); ++axis)
        if (loop::readsAcross(at, axes.index[axis], innermost)) ++reads[axis];
    }
  const auto most = std::max_element(reads.begin(), reads.end());
  if (*most == 0) return std::nullopt;
  const size_t axis = static_cast<size_t>(most - reads.begin());
  const std::optional<int64_t> size = axes.space[axis].constant();
  if (size && *size <= kShortStride) return std::nullopt;
  return axis;
}

namespace {

// Is it `inner` times `stride`, plus `between`, plus what has neither?
bool isBetween(Expr place, Expr inner, Expr between, int64_t stride) {
  int inners = 0, betweens = 0;
  std::vector<Expr> work{place};
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    const bool isSum = e.kind() == ExprKind::binary && e.binaryOp() == loop::BinaryOp::add;
    if (e.same(between)) {
      ++betweens;
    } else if (isSum) {
      work.insert(work.end(), e.operands().begin(), e.operands().end());
    } else if (mentions(e, inner)) {
      if (e.kind() != ExprKind::binary || e.binaryOp() != loop::BinaryOp::mul) return false;
      const bool first = e.operands()[0].same(inner);
      if (!first && !e.operands()[1].same(inner)) return false;
      if (constantOf(e.operands()[first ? 1 : 0]) != stride) return false;
      ++inners;
    } else if (mentions(e, between)) {
      return false;
    }
  }
  return inners == 1 && betweens == 1;
}

}  // namespace

std::optional<size_t> axisReadBetween(const NestAxes& axes) {
  const Expr innermost = axes.index.back();
  for (size_t axis = 0; axis + 1 < axes.index.size(); ++axis) {
    const int64_t size = axes.space[axis].constant().value_or(0);
    if (size < 2 || size > kShortStride) continue;
    const Expr variable = axes.index[axis];
    for (const Expr& root : axes.roots)
      for (const NestPart& part : partsOf(root)) {
        const auto at = part.expr.operands();
        if (part.expr.kind() != ExprKind::load || !part.always || at.empty()) continue;
        if (at.size() > 1 && loop::readsAcross(at, variable, innermost) &&
            loop::isShifted(at[at.size() - 2], innermost) &&
            constantOf(part.expr.buffer()->shape.back()) == size)
          return axis;
        const auto leads = at.first(at.size() - 1);
        if (isBetween(at.back(), innermost, variable, size) &&
            std::none_of(leads.begin(), leads.end(),
                         [&](Expr e) { return mentions(e, innermost) || mentions(e, variable); }))
          return axis;
      }
  }
  return std::nullopt;
}

std::optional<NestSharing> axisOfSharing(const NestAxes& axes) {
  const std::vector<Expr> nodes = loop::postorder(axes.roots);
  std::optional<NestSharing> best;
  size_t most = kWorthSharing - 1;
  for (size_t axis = 0; axis + 1 < axes.index.size(); ++axis) {
    if (axes.space[axis].isConstant(1)) continue;
    std::unordered_map<uint32_t, bool> ofValues;  // not of this axis, and by something that is read
    std::unordered_map<uint32_t, bool> ofAxis;
    size_t count = 0, slow = 0;
    for (const Expr& e : nodes) {
      bool values = e.kind() == ExprKind::load, depends = e.same(axes.index[axis]);
      for (const Expr& part : e.operands()) {
        values |= ofValues[part.id()];
        depends |= ofAxis[part.id()];
      }
      ofAxis[e.id()] = depends;
      ofValues[e.id()] = values;
      if (!values || depends) continue;
      ++count;
      if (isSlow(e)) ++slow;
    }
    const size_t cost = count + slow * (kSlowOperation - 1);
    if (cost > most) {
      most = cost;
      best = {axis, count < kWorthSharing};
    }
  }
  return best;
}

std::vector<Expr> slowPartsShared(std::span<const Expr> roots, Expr element, Expr lane) {
  constexpr int64_t kLeastBytes = 4;  // of a number that is computed as it is stored
  std::vector<Expr> parts, work(roots.begin(), roots.end());
  std::unordered_set<uint32_t> seen;
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (!seen.insert(e.id()).second) continue;
    if (!mentions(e, element) && mentions(e, lane) && isReal(e.dtype()) &&
        storageBytes(e.dtype()) >= kLeastBytes && holdsSlow(e)) {
      parts.push_back(e);
      continue;
    }
    const size_t count = e.kind() == ExprKind::select ? 1 : e.operands().size();
    for (size_t i = 0; i < count; ++i) work.push_back(e.operands()[i]);
  }
  return parts;
}

bool hasChecks(const NestAxes& axes) {
  const std::vector<Expr> nodes = loop::postorder(axes.roots);
  return std::any_of(nodes.begin(), nodes.end(), [](Expr e) { return e.kind() == ExprKind::checked; });
}

}  // namespace dyn
