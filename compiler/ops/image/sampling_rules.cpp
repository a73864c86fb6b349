#include "compiler/ops/image/sampling_rules.h"

#include <cmath>

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// Steps through all combinations, the last axis fastest; false after the last one.
template <typename Taps>
bool nextChoice(const std::vector<std::vector<Taps>>& along, std::vector<size_t>& choice) {
  for (size_t axis = along.size(); axis-- > 0;) {
    if (++choice[axis] < along[axis].size()) return true;
    choice[axis] = 0;
  }
  return false;
}

}  // namespace

std::vector<Tap> combined(const std::vector<std::vector<Tap>>& along, std::span<const int64_t> strides) {
  std::vector<Tap> taps;
  std::vector<size_t> choice(along.size(), 0);
  do {
    Tap whole;
    for (size_t axis = 0; axis < along.size(); ++axis) {
      const Tap& tap = along[axis][choice[axis]];
      whole.at += tap.at * strides[axis];
      whole.weight *= tap.weight;
      whole.outside = whole.outside || tap.outside;
    }
    taps.push_back(whole);
  } while (nextChoice(along, choice));
  return taps;
}

Result<Expr> weightedSum(LowerContext& c, int i, const std::vector<std::vector<LoweredTap>>& along,
                         Dtype computed) {
  std::vector<size_t> choice(along.size(), 0);
  Expr sum;
  do {
    std::vector<Expr> at;
    Expr weight, inside;
    for (size_t axis = 0; axis < along.size(); ++axis) {
      const LoweredTap& tap = along[axis][choice[axis]];
      at.push_back(tap.at);
      if (tap.weight) weight = weight ? weight * tap.weight : tap.weight;
      if (tap.inside) inside = inside ? inside && tap.inside : tap.inside;
    }
    DYN_TRY(Expr x, c.read(i, at));
    if (inside) {
      const Dtype dtype = x.dtype();
      x = select(inside, x, dtype == Dtype::boolean ? c.loops().boolean(false) : c.number(0, dtype));
    }
    if (weight) x = castTo(x, computed) * castTo(weight, computed);
    sum = sum ? sum + x : x;
  } while (nextChoice(along, choice));
  return sum;
}

double cubicWeight(double a, double distance) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

Expr cubicWeight(LowerContext& c, double a, Expr distance) {
  const auto f64 = [&](double value) { return c.number(value, Dtype::f64); };
  const Expr d = unary(loop::UnaryOp::abs, distance);
  const Expr near = (f64(a + 2) * d - f64(a + 3)) * d * d + f64(1);
  const Expr far = ((f64(a) * d - f64(5 * a)) * d + f64(8 * a)) * d - f64(4 * a);
  return select(d <= f64(1), near, select(d < f64(2), far, f64(0)));
}

}  // namespace dyn
