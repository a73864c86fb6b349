// Fewer terms for the same value. What slices and paddings leave behind when their parts are joined again.

#include "compiler/dims/dim_compact.h"

#include <algorithm>

#include "compiler/dims/dim_node.h"

namespace dyn {
namespace {

constexpr size_t kMaxCompacted = 64;  // terms; longer sums stay as they are

// k when max(right) is max(left) + k operand by operand: then min(left) + max(right) is the sum of left plus
// k.
std::optional<int64_t> offsetOf(const DimNode* left, const DimNode* right) {
  auto distance = [](Dim from, Dim to) { return (to - from).constant(); };
  for (bool crossed : {false, true}) {
    auto first = distance(left->operands[0], right->operands[crossed ? 1 : 0]);
    auto second = distance(left->operands[1], right->operands[crossed ? 0 : 1]);
    if (first && second && *first == *second) return first;
  }
  return std::nullopt;
}

// min(a, b) + max(a + k, b + k) = a + b + k.
Dim withoutPair(const DimPoly& p, Dim d) {
  for (const DimTerm& low : p.terms) {
    if (low.monomial->kind != DimKind::min) continue;
    for (const DimTerm& high : p.terms) {
      if (high.monomial->kind != DimKind::max || (high.coefficient > 0) != (low.coefficient > 0)) continue;
      auto offset = offsetOf(low.monomial, high.monomial);
      if (!offset) continue;
      const bool positive = low.coefficient > 0;
      const int64_t times = positive ? std::min(low.coefficient, high.coefficient)
                                     : std::max(low.coefficient, high.coefficient);
      const Dim pair = DimBuilder::dim(low.monomial) + DimBuilder::dim(high.monomial);
      return d - pair * times + (low.monomial->operands[0] + low.monomial->operands[1] + *offset) * times;
    }
  }
  return d;
}

// a mod k = a - k*floordiv(a, k), where what is subtracted cancels: n + mod(-n, 7) = 7*floordiv(n + 6, 7).
Dim withoutRemainder(const DimPoly& p, Dim d) {
  for (const DimTerm& t : p.terms) {
    if (t.monomial->kind != DimKind::mod) continue;
    auto k = t.monomial->operands[1].constant();
    if (!k || *k <= 0) continue;
    const Dim a = t.monomial->operands[0];
    const Dim next = d - DimBuilder::dim(t.monomial) * t.coefficient +
                     (a - floorDiv(a, a.context().constant(*k)) * *k) * t.coefficient;
    if (!next.isInvalid() && DimBuilder::poly(next).terms.size() < p.terms.size()) return next;
  }
  return d;
}

}  // namespace

Dim sumOf(std::span<const Dim> dims) {
  DimBuilder builder(dims[0].context());
  DimPoly sum;
  for (Dim d : dims) sum = builder.add(sum, DimBuilder::poly(d), 1);
  return builder.build(sum);
}

Dim compact(Dim d) {
  while (d.kind() == DimKind::add) {
    const DimPoly p = DimBuilder::poly(d);
    if (p.terms.size() > kMaxCompacted) return d;
    Dim next = withoutPair(p, d);
    if (next == d) next = withoutRemainder(p, d);
    if (next == d || next.isInvalid() || DimBuilder::poly(next).terms.size() >= p.terms.size()) return d;
    d = next;
  }
  return d;
}

Dim withoutFirst(Dim d, const DimSolver& facts) {
  if (d.kind() != DimKind::max) return d;
  const Dim zero = d.context().constant(0);
  const Dim sum = d.operands()[0].isConstant(0) ? d.operands()[1] : d.operands()[0];
  if (sum.kind() != DimKind::add || max(zero, sum) != d) return d;
  for (const DimTerm& t : DimBuilder::poly(sum).terms) {
    if (t.monomial->kind != DimKind::min) continue;
    const Dim first = DimBuilder::dim(t.monomial);
    const Dim all = first.operands()[0].isConstant(1) ? first.operands()[1] : first.operands()[0];
    if (!all.isSymbol() || min(d.context().constant(1), all) != first) continue;
    // Of at least one element the first is there; what is so then must be right of none, too.
    const Dim rest = sum - first * t.coefficient + t.coefficient;
    const auto ofNone = [&](Dim whole) {
      return substitute(whole, [&](SymbolId s) { return s == all.symbol() ? zero : Dim(); });
    };
    if (facts.lessEqual(zero, all) == Answer::yes && facts.lessEqual(zero, rest) == Answer::yes &&
        facts.equal(ofNone(rest), ofNone(d)) == Answer::yes)
      return rest;
  }
  return d;
}

}  // namespace dyn
