// Intervals and divisors of dims, from what is known of their symbols and of sums.
#include <algorithm>
#include <numeric>

#include "compiler/dims/dim_solver_state.h"

namespace dyn {
namespace {

using Bound = std::optional<int64_t>;  // nullopt: unbounded on its side

Interval sum(const Interval& a, const Interval& b) {
  return {a.low && b.low ? checkedAdd(*a.low, *b.low) : Bound(),
          a.high && b.high ? checkedAdd(*a.high, *b.high) : Bound()};
}

Interval intersect(Interval a, const Interval& b) {
  if (b.low && (!a.low || *b.low > *a.low)) a.low = b.low;
  if (b.high && (!a.high || *b.high < *a.high)) a.high = b.high;
  return a;
}

// Products with infinities: 0 * ∞ = 0, for ∞ only stands for "any large number".
Interval product(const Interval& a, const Interval& b) {
  struct Extended {
    int infinite;  // -1, 0, 1
    int64_t value;
  };
  auto side = [](Bound x, int sign) { return x ? Extended{0, *x} : Extended{sign, 0}; };
  auto signOf = [](Extended e) { return e.infinite ? e.infinite : (e.value > 0) - (e.value < 0); };
  Extended as[2] = {side(a.low, -1), side(a.high, 1)}, bs[2] = {side(b.low, -1), side(b.high, 1)};
  bool noLow = false, noHigh = false, any = false;
  int64_t low = 0, high = 0;
  for (Extended x : as)
    for (Extended y : bs) {
      int sign = signOf(x) * signOf(y);
      Extended corner{0, 0};
      if (sign != 0) {
        auto v = x.infinite || y.infinite ? std::nullopt : checkedMul(x.value, y.value);
        corner = v ? Extended{0, *v} : Extended{sign, 0};
      }
      if (corner.infinite < 0) noLow = true;
      if (corner.infinite > 0) noHigh = true;
      if (corner.infinite) continue;
      low = any ? std::min(low, corner.value) : corner.value;
      high = any ? std::max(high, corner.value) : corner.value;
      any = true;
    }
  // A corner that overflowed upward still bounds nothing below, but the finite corners do.
  Interval r;
  if (!noLow && any) r.low = low;
  if (!noHigh && any) r.high = high;
  return r;
}

// a / b rounded down for b >= 1.
Interval quotient(const Interval& a, const Interval& b) {
  Interval r;
  if (a.low)
    r.low = *a.low >= 0 ? (b.high ? *checkedFloorDiv(*a.low, *b.high) : 0) : *checkedFloorDiv(*a.low, *b.low);
  if (a.high) {
    if (*a.high >= 0)
      r.high = *checkedFloorDiv(*a.high, *b.low);
    else
      r.high = b.high ? *checkedFloorDiv(*a.high, *b.high) : -1;
  }
  return r;
}

Interval negated(const Interval& a) {
  auto flip = [](Bound x) { return x && *x != INT64_MIN ? Bound(-*x) : Bound(); };
  return {flip(a.high), flip(a.low)};
}

}  // namespace

Interval DimProver::symbolInterval(SymbolId s) {
  const SymbolKnowledge& k = impl_.known(s);
  note(k.range.lowProof);
  note(k.range.highProof);
  Interval r = k.range.range;
  if (k.multiple > 1) {
    note(k.multipleProof);
    if (r.low) {
      auto q = checkedMul(*checkedCeilDiv(*r.low, k.multiple), k.multiple);
      if (q) r.low = q;
    }
    if (r.high) {
      auto q = checkedMul(*checkedFloorDiv(*r.high, k.multiple), k.multiple);
      if (q) r.high = q;
    }
  }
  return r;
}

Interval DimProver::operandInterval(const DimNode* n) {
  if (n->kind == DimKind::constant) return {n->value, n->value};
  if (trace_) return traced_.at(n);
  return impl_.intervals[n->id].value;
}

// From the intervals of the operands, which are there already.
Interval DimProver::nodeInterval(const DimNode* n) {
  auto of = [&](size_t i) { return operandInterval(DimBuilder::node(n->operands[i])); };
  Interval r;
  switch (n->kind) {
    case DimKind::constant:
      return {n->value, n->value};
    case DimKind::invalid:
      return {};
    case DimKind::symbol:
      return symbolInterval(n->symbol);
    case DimKind::add:
      r = of(0);
      for (size_t i = 1; i < n->operands.size(); ++i) r = sum(r, of(i));
      break;
    case DimKind::mul: {
      r = {1, 1};
      for (size_t i = 0; i < n->operands.size();) {
        size_t j = i + 1;
        while (j < n->operands.size() && n->operands[j] == n->operands[i]) ++j;
        Interval power{1, 1};
        for (size_t k = i; k < j; ++k) power = product(power, of(i));
        if ((j - i) % 2 == 0) power = intersect(power, {0, std::nullopt});
        r = product(r, power);
        i = j;
      }
      break;
    }
    case DimKind::floorDiv:
    case DimKind::ceilDiv:
    case DimKind::mod: {
      // 0 is no value of a divisor: the dim is not defined there.
      Interval a = of(0), b = of(1);
      if (b.low && *b.low == 0) b.low = 1;
      if (!b.low || *b.low < 1 || (b.high && *b.high < *b.low)) break;
      if (n->kind == DimKind::floorDiv) r = quotient(a, b);
      if (n->kind == DimKind::ceilDiv) r = negated(quotient(negated(a), b));
      if (n->kind == DimKind::mod) {
        r.low = 0;
        if (b.high) r.high = *b.high - 1;
        if (a.low && *a.low >= 0 && a.high) {
          if (*a.high < *b.low)
            r = a;
          else if (!r.high || *a.high < *r.high)
            r.high = a.high;
        }
      }
      break;
    }
    case DimKind::min:
    case DimKind::max: {
      Interval a = of(0), b = of(1);
      bool isMin = n->kind == DimKind::min;
      // The side where both bounds are needed, and the side where one is enough.
      if (isMin) {
        if (a.low && b.low) r.low = std::min(*a.low, *b.low);
        r.high = a.high && b.high ? std::min(*a.high, *b.high) : a.high ? a.high : b.high;
      } else {
        if (a.high && b.high) r.high = std::max(*a.high, *b.high);
        r.low = a.low && b.low ? std::max(*a.low, *b.low) : a.low ? a.low : b.low;
      }
      break;
    }
  }
  if (impl_.sums.empty()) return r;
  NormalSum normal = DimSolver::Impl::normalSum(*impl_.context, plain(n));
  const SumKnowledge* known = normal.sum ? impl_.sumKnowledge(normal.sum) : nullptr;
  if (!known) return r;
  note(known->range.lowProof);
  note(known->range.highProof);
  Interval told = product(known->range.range, {normal.factor, normal.factor});
  return intersect(r, sum(told, {normal.offset, normal.offset}));
}

Interval DimProver::interval(Dim d) {
  auto ready = [&](const DimNode* n) {
    if (n->kind == DimKind::constant) return true;
    if (trace_) return traced_.count(n) > 0;
    return n->id < impl_.intervals.size() && impl_.intervals[n->id].generation == impl_.generation;
  };
  const bool finished = visitOperandsFirst(DimBuilder::node(d), ready, [&](const DimNode* done) {
    if (!spend(1 + done->operands.size())) return false;
    Interval value = nodeInterval(done);
    if (trace_) {
      traced_[done] = value;
      return true;
    }
    if (done->id >= impl_.intervals.size()) impl_.intervals.resize(done->id + done->id / 2 + 16);
    impl_.intervals[done->id] = {impl_.generation, value};
    return true;
  });
  if (!finished) return {};  // unbounded: nothing is known
  return operandInterval(DimBuilder::node(d));
}

int64_t DimProver::multipleOf(Dim d) {
  // Two levels deep only: divisors of nested atoms are rarely of use.
  std::function<int64_t(const DimNode*, int)> of = [&](const DimNode* n, int depth) -> int64_t {
    if (!spend(1)) return 1;
    switch (n->kind) {
      case DimKind::constant:
        return n->value == INT64_MIN ? 1 : n->value < 0 ? -n->value : n->value;
      case DimKind::symbol:
        note(impl_.known(n->symbol).multipleProof);
        return impl_.known(n->symbol).multiple;
      default:
        break;
    }
    if (depth > 6) return 1;
    auto operand = [&](size_t i) { return of(DimBuilder::node(n->operands[i]), depth + 1); };
    int64_t r = n->kind == DimKind::mul ? 1 : 0;
    switch (n->kind) {
      case DimKind::mul:
        for (size_t i = 0; i < n->operands.size(); ++i) {
          int64_t m = operand(i);
          if (m == 0) return 0;
          if (auto p = checkedMul(r, m)) r = *p;
        }
        return r;
      case DimKind::add:
      case DimKind::min:
      case DimKind::max:
      case DimKind::mod:
        for (size_t i = 0; i < n->operands.size() && r != 1; ++i) r = std::gcd(r, operand(i));
        return r;
      case DimKind::floorDiv:
      case DimKind::ceilDiv: {
        auto k = n->operands[1].constant();
        if (!k || *k <= 0) return 1;
        int64_t m = operand(0);
        return m != 0 && m % *k == 0 ? m / *k : 1;
      }
      default:
        return 1;
    }
  };
  return of(DimBuilder::node(d), 0);
}

Answer DimProver::divides(int64_t divisor, Dim d) {
  if (d.isInvalid() || divisor == INT64_MIN) return Answer::unknown;
  if (divisor < 0) divisor = -divisor;
  if (divisor == 0) return isZero(d);  // 0 divides only 0
  if (divisor == 1) return Answer::yes;
  // Terms that the divisor divides drop out; a constant left over decides.
  DimBuilder builder(*impl_.context);
  DimPoly rest;
  for (const DimTerm& t : DimBuilder::poly(d).terms) {
    auto whole = checkedMul(t.coefficient % divisor, multipleOf(plain(t.monomial)) % divisor);
    bool isConstant = t.monomial->degree == 0;
    if (isConstant ? t.coefficient % divisor == 0 : whole && *whole % divisor == 0) continue;
    rest.terms.push_back(t);
  }
  if (rest.terms.empty()) return Answer::yes;
  Dim left = builder.build(rest);
  if (left.isConstant()) return Answer::no;
  // No value of c*x + r is a multiple when gcd(c*multiple, divisor) does not divide r.
  int64_t common = divisor, offset = 0;
  for (const DimTerm& t : rest.terms) {
    if (t.monomial->degree == 0) {
      offset = t.coefficient;
      continue;
    }
    auto m = checkedMul(t.coefficient % divisor, multipleOf(plain(t.monomial)) % divisor);
    common = std::gcd(common, m ? *m : 1);
  }
  if (offset % common != 0) return Answer::no;
  Interval i = interval(left);
  if (i.low && i.high && *i.low == *i.high) return *i.low % divisor == 0 ? Answer::yes : Answer::no;
  NormalSum normal = DimSolver::Impl::normalSum(*impl_.context, left);
  const SumKnowledge* known = normal.sum ? impl_.sumKnowledge(normal.sum) : nullptr;
  if (known && known->modulus > 1) {
    // factor*(residue + modulus*k) + offset
    auto step = checkedMul(normal.factor, known->modulus);
    auto base = checkedMul(normal.factor, known->residue);
    auto value = base ? checkedAdd(*base, normal.offset) : std::nullopt;
    if (step && value) {
      note(known->residueProof);
      if (*step % divisor == 0) return *value % divisor == 0 ? Answer::yes : Answer::no;
      if (*value % std::gcd(*step, divisor) != 0) return Answer::no;
    }
  }
  return Answer::unknown;
}

}  // namespace dyn
