#include "compiler/passes/analysis/element_bounds.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

namespace dyn::passes {

using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;

namespace {

using Bound = std::optional<int64_t>;

Bound plus(Bound a, Bound b) { return a && b ? checkedAdd(*a, *b) : std::nullopt; }
Bound minus(Bound a, Bound b) {
  const Bound negative = b ? checkedMul(*b, -1) : std::nullopt;
  return plus(a, negative);
}

Interval product(const Interval& a, const Interval& b) {
  const auto known = [](const Interval& i) { return i.low && i.high && *i.low == *i.high; };
  if (!known(a) && !known(b)) {
    const bool natural = a.low && b.low && *a.low >= 0 && *b.low >= 0;
    return {natural ? Bound(0) : std::nullopt, std::nullopt};
  }
  const Interval& range = known(a) ? b : a;
  const int64_t factor = known(a) ? *a.low : *b.low;
  const auto times = [&](Bound x) { return x ? checkedMul(*x, factor) : std::nullopt; };
  return factor >= 0 ? Interval{times(range.low), times(range.high)}
                     : Interval{times(range.high), times(range.low)};
}

class Bounds {
 public:
  explicit Bounds(const DimSolver& facts) : facts_(facts) {}

  Interval of(Expr root) {
    for (const Expr& e : loop::postorder(std::span(&root, 1))) known_.emplace(e.id(), one(e));
    return known_.at(root.id());
  }

 private:
  Interval at(const Expr& e) {
    const auto found = known_.find(e.id());
    return found == known_.end() ? Interval{} : found->second;
  }

  Interval one(const Expr& e) {
    switch (e.kind()) {
      case ExprKind::intConstant:
        return {e.intValue(), e.intValue()};
      case ExprKind::dim:
        return facts_.interval(e.dimValue());
      case ExprKind::variable: {
        const Expr extent = e.context().extentOf(e);
        if (extent.isNull()) return {};
        return {int64_t{0}, plus(extent.kind() == ExprKind::intConstant ? Bound(extent.intValue())
                                 : extent.kind() == ExprKind::dim ? facts_.interval(extent.dimValue()).high
                                                                  : std::nullopt,
                                 Bound(-1))};
      }
      case ExprKind::select:
        return join(at(e.operands()[1]), at(e.operands()[2]));
      case ExprKind::checked:
        return at(e.operands()[1]);
      case ExprKind::binary:
        return isInteger(e.dtype()) ? binary(e.binaryOp(), at(e.operands()[0]), at(e.operands()[1]))
                                    : Interval{};
      default:
        return {};
    }
  }

  static Interval join(const Interval& a, const Interval& b) {
    return {a.low && b.low ? Bound(std::min(*a.low, *b.low)) : std::nullopt,
            a.high && b.high ? Bound(std::max(*a.high, *b.high)) : std::nullopt};
  }

  static Interval binary(BinaryOp op, const Interval& a, const Interval& b) {
    const auto least = [](Bound x, Bound y) { return x && y ? Bound(std::min(*x, *y)) : x ? x : y; };
    const auto most = [](Bound x, Bound y) { return x && y ? Bound(std::max(*x, *y)) : x ? x : y; };
    switch (op) {
      case BinaryOp::add:
        return {plus(a.low, b.low), plus(a.high, b.high)};
      case BinaryOp::sub:
        return {minus(a.low, b.high), minus(a.high, b.low)};
      case BinaryOp::mul:
        return product(a, b);
      case BinaryOp::min:
        return {a.low && b.low ? Bound(std::min(*a.low, *b.low)) : std::nullopt, least(a.high, b.high)};
      case BinaryOp::max:
        return {most(a.low, b.low), a.high && b.high ? Bound(std::max(*a.high, *b.high)) : std::nullopt};
      default:
        return {};
    }
  }

  const DimSolver& facts_;
  std::unordered_map<uint32_t, Interval> known_;
};

// b - a as a sum of terms with factors, so that what stands in both is gone: (j + t) - j is t.
class Difference {
 public:
  Difference(const Expr& a, const Expr& b) {
    add(b, 1);
    add(a, -1);
  }

  Interval bounds(const DimSolver& facts) const {
    Interval sum{constant_, constant_};
    for (const auto& [id, term] : terms_) {
      if (term.factor == 0) continue;
      const Interval part = product({term.factor, term.factor}, boundsOf(term.expr, facts));
      sum = {plus(sum.low, part.low), plus(sum.high, part.high)};
    }
    return fits_ ? sum : Interval{};
  }

 private:
  struct Term {
    Expr expr;
    int64_t factor = 0;
  };

  void add(const Expr& root, int64_t sign) {
    std::vector<std::pair<Expr, int64_t>> pending{{root, sign}};
    while (!pending.empty() && fits_) {
      const auto [e, factor] = pending.back();
      pending.pop_back();
      const bool isBinary = e.kind() == ExprKind::binary;
      if (e.kind() == ExprKind::intConstant) {
        const Bound more = checkedMul(e.intValue(), factor);
        const Bound all = more ? checkedAdd(constant_, *more) : std::nullopt;
        fits_ = all.has_value();
        constant_ = all.value_or(0);
      } else if (isBinary && (e.binaryOp() == BinaryOp::add || e.binaryOp() == BinaryOp::sub)) {
        pending.push_back({e.operands()[0], factor});
        pending.push_back({e.operands()[1], e.binaryOp() == BinaryOp::sub ? -factor : factor});
      } else if (e.kind() == ExprKind::cast && isWide(e.dtype()) && isWide(e.operands()[0].dtype())) {
        pending.push_back({e.operands()[0], factor});
      } else {
        Term& term = terms_[e.id()];
        term.expr = e;
        term.factor += factor;
      }
    }
  }
  // Positions are no larger than either holds.
  static bool isWide(Dtype dtype) { return dtype == Dtype::i32 || dtype == Dtype::i64; }

  std::map<uint32_t, Term> terms_;
  int64_t constant_ = 0;
  bool fits_ = true;
};

}  // namespace

Interval boundsOf(Expr e, const DimSolver& facts) { return Bounds(facts).of(e); }

Expr decided(Expr e, const DimSolver& facts) {
  loop::LoopContext& loops = e.context();
  return loops.substitute(e, [&](Expr now) -> Expr {
    if (now.kind() != ExprKind::binary) return {};
    const BinaryOp op = now.binaryOp();
    const bool equals = op == BinaryOp::equal || op == BinaryOp::notEqual;
    if ((!equals && op != BinaryOp::less && op != BinaryOp::lessEqual) ||
        !isInteger(now.operands()[0].dtype()))
      return {};
    const Interval apart = Difference(now.operands()[0], now.operands()[1]).bounds(facts);
    if (equals) {
      if ((apart.low && *apart.low > 0) || (apart.high && *apart.high < 0))
        return loops.boolean(op == BinaryOp::notEqual);
      if (apart.low && apart.high && *apart.low == 0 && *apart.high == 0)
        return loops.boolean(op == BinaryOp::equal);
      return {};
    }
    const int64_t least = op == BinaryOp::less ? 1 : 0;
    if (apart.low && *apart.low >= least) return loops.boolean(true);
    if (apart.high && *apart.high < least) return loops.boolean(false);
    return {};
  });
}

}  // namespace dyn::passes
