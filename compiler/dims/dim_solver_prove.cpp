// Is a canonical dim never negative, zero, never zero?
#include <algorithm>
#include <numeric>

#include "compiler/dims/dim_solver_state.h"

namespace dyn {
namespace {

constexpr int kMaxDepth = 6;
constexpr size_t kMaxSumsTried = 16;

std::vector<Dim> atomsOf(const DimNode* monomial) {
  if (monomial->degree == 0) return {};
  return monomial->kind == DimKind::mul ? monomial->operands : std::vector<Dim>{DimBuilder::dim(monomial)};
}

// d with `coefficient * monomial` replaced by `coefficient * value`.
Dim replaced(Dim d, const DimTerm& t, Dim value) {
  return d - DimBuilder::dim(t.monomial) * t.coefficient + value * t.coefficient;
}

// A bound of k*p, less what rounding leaves, where t is the quotient of quotients x/k: x itself in its place,
// whose parts may fall away with the other terms before these are bounded. 7*((a/4 + 6)/7) - a/4 becomes 0.
// Null: t is none.
Dim boundByOuterQuotient(DimContext& context, const DimPoly& p, const DimTerm& t) {
  if (t.monomial->kind != DimKind::floorDiv) return {};
  const Dim x = t.monomial->operands[0];
  const auto k = t.monomial->operands[1].constant();
  const std::vector<DimTerm>& inner = DimBuilder::poly(x).terms;
  const bool nested = std::any_of(inner.begin(), inner.end(), [](const DimTerm& part) {
    return part.monomial->kind == DimKind::floorDiv;
  });
  if (!k || *k <= 1 || !nested) return {};
  const Dim others = DimBuilder(context).build(p) - DimBuilder::dim(t.monomial) * t.coefficient;
  return others * *k + (t.coefficient > 0 ? x - (*k - 1) : x) * t.coefficient + (*k - 1);
}

}  // namespace

// Cheap tests first: the interval, what was found before, an assignment that refutes it. Only then the
// search.
bool DimProver::nonNegative(Dim d, int depth) {
  if (d.isInvalid() || !spend(1)) return false;
  if (auto value = d.constant()) return *value >= 0;
  Interval i = interval(d);
  if (i.low && *i.low >= 0) return true;
  if (i.high && *i.high < 0) return false;
  if (depth >= kMaxDepth || exhausted()) return false;
  const uint32_t id = d.id();
  SearchMemory known;
  if (const SearchMemory* memory = impl_.remembered(impl_.searched, id)) known = *memory;
  // A proof that is traced has to be walked again; a failure needs no facts.
  if (known.proven && !trace_) return true;
  if (depth >= known.failedFrom || impl_.sampledSigns(d).negative) return false;
  const bool proven = searchNonNegative(d, depth);
  if (proven)
    known.proven = true;
  else if (!exhausted())
    known.failedFrom = static_cast<uint8_t>(depth);
  impl_.remember(impl_.searched, id, known);
  return proven;
}

bool DimProver::searchNonNegative(Dim d, int depth) {
  DimPoly p = DimBuilder::poly(d);
  if (!spend(p.terms.size())) return false;
  bool decided = false;
  if (nonNegativeByChoice(p, d, depth, decided)) return true;
  if (decided) return false;
  return allTermsPositive(d) || nonNegativeBySums(p, d, depth) || nonNegativeByQuotients(p, depth) ||
         nonNegativeByZeroSplit(d);
}

// min and max: the value is one of their operands. Where the larger value helps, one operand that is enough
// is a proof; where it hurts, each must be. The latter come first: which operand helps may differ between
// them. A chain of choices is one choice of many.
bool DimProver::nonNegativeByChoice(const DimPoly& p, Dim d, int depth, bool& decided) {
  auto helps = [](const DimTerm& t) { return (t.monomial->kind == DimKind::max) == (t.coefficient > 0); };
  for (bool either : {false, true})
    for (const DimTerm& t : p.terms) {
      const DimKind kind = t.monomial->kind;
      if ((kind != DimKind::min && kind != DimKind::max) || helps(t) != either) continue;
      bool all = true;
      for (Dim choice : flattenChoice(kind, plain(t.monomial))) {
        if (!spend(p.terms.size())) return false;
        const bool holds = nonNegative(replaced(d, t, choice), depth + 1);
        if (either && holds) return true;
        all = all && holds;
        if (!either && !holds) break;
      }
      if (!either) {
        decided = true;
        return all;
      }
    }
  return false;
}

// Each symbol outside of atoms is counted from its lower bound: n*m - n with m >= 1 is n*m'. Then no term may
// be negative.
bool DimProver::allTermsPositive(Dim d) {
  std::vector<SymbolId> inside;
  DimPoly before = DimBuilder::poly(d);
  for (const DimTerm& t : before.terms)
    for (Dim atom : atomsOf(t.monomial)) {
      if (atom.isSymbol()) continue;
      if (DimBuilder::node(atom)->symbolSet == kManySymbols) return false;
      for (SymbolId s : symbolsOf(atom)) inside.push_back(s);
    }
  std::sort(inside.begin(), inside.end());
  auto isInside = [&](SymbolId s) { return std::binary_search(inside.begin(), inside.end(), s); };
  auto fromBound = [&](SymbolId s) {
    if (isInside(s)) return Dim();
    Interval i = symbolInterval(s);
    return i.low && *i.low != 0 ? impl_.context->symbolById(s) + *i.low : Dim();
  };
  const std::vector<SymbolId> symbols = symbolsOf(d);
  if (!spend(1 + symbols.size())) return false;
  Dim shifted = d;
  if (std::any_of(symbols.begin(), symbols.end(),
                  [&](SymbolId s) { return static_cast<bool>(fromBound(s)); })) {
    if (!spend(4 * before.terms.size())) return false;
    shifted = substitute(d, fromBound);
  }
  if (shifted.isInvalid()) return false;
  for (const DimTerm& t : DimBuilder::poly(shifted).terms) {
    spend(1);
    if (t.coefficient < 0) return false;
    std::vector<Dim> atoms = atomsOf(t.monomial);
    for (size_t i = 0; i < atoms.size(); ++i) {
      if (i + 1 < atoms.size() && atoms[i] == atoms[i + 1]) {
        ++i;  // a square
        continue;
      }
      bool moved = atoms[i].isSymbol() && !isInside(atoms[i].symbol());
      Interval bounds = moved ? symbolInterval(atoms[i].symbol()) : interval(atoms[i]);
      if (!bounds.low || (!moved && *bounds.low < 0)) return false;
    }
  }
  return true;
}

// What is known of sums: d = q*(sum - low) + rest or q*(high - sum) + rest, q > 0, and rest must not be
// negative.
bool DimProver::nonNegativeBySums(const DimPoly& p, Dim d, int depth) {
  if (impl_.sums.empty() || depth >= 3) return false;
  size_t tried = 0;
  for (const DimTerm& t : p.terms) {
    auto found = impl_.sumsWithTerm.find(t.monomial);
    if (t.monomial->degree == 0 || found == impl_.sumsWithTerm.end()) continue;
    for (size_t n = found->second.size(); n-- > 0 && tried < kMaxSumsTried;) {
      const SumKnowledge sum = impl_.sums[found->second[n]];
      if (!sum.live) continue;
      int64_t coefficient = 0;
      for (const DimTerm& s : DimBuilder::poly(sum.sum).terms)
        if (s.monomial == t.monomial) coefficient = s.coefficient;
      if (coefficient == 0 || t.coefficient == INT64_MIN || t.coefficient % coefficient != 0) continue;
      int64_t q = t.coefficient / coefficient;
      bool up = q > 0;
      if (up ? !sum.range.range.low : !sum.range.range.high) continue;
      ++tried;
      note(up ? sum.range.lowProof : sum.range.highProof);
      Dim base = sum.sum - (up ? *sum.range.range.low : *sum.range.range.high);
      if (nonNegative(d - base * q, depth + 1)) return true;
    }
  }
  return false;
}

// K*d >= e with an e free of quotients proves d >= 0 already when e > -K, for d is an integer.
bool DimProver::nonNegativeByQuotients(const DimPoly& p, int depth) {
  for (const DimTerm& t : p.terms)
    if (const Dim bound = boundByOuterQuotient(*impl_.context, p, t); bound && nonNegative(bound, depth + 1))
      return true;
  int64_t scale = 1;
  bool any = false;
  for (const DimTerm& t : p.terms) {
    if (t.monomial->kind == DimKind::mod) any = any || t.coefficient < 0;
    if (t.monomial->kind != DimKind::floorDiv) continue;
    auto k = t.monomial->operands[1].constant();
    any = true;
    if (!k || *k <= 0) continue;
    auto next = checkedMul(scale / std::gcd(scale, *k), *k);
    if (!next || *next > (int64_t{1} << 40)) return false;
    scale = *next;
  }
  if (!any) return false;
  for (bool modByDividend : {false, true}) {
    Dim lower = impl_.context->constant(0);
    bool sawMod = false;
    for (const DimTerm& t : p.terms) {
      Dim bound = plain(t.monomial) * scale;
      if (t.monomial->kind == DimKind::floorDiv) {
        Dim x = t.monomial->operands[0], b = t.monomial->operands[1];
        auto k = b.constant();
        if (k && *k > 0) {
          bound = (t.coefficient > 0 ? x - (*k - 1) : x) * (scale / *k);
        } else if (t.coefficient < 0) {  // x/b <= x for x >= 0, b >= 1
          Interval ix = interval(x), ib = interval(b);
          if (ix.low && *ix.low >= 0 && ib.low && *ib.low >= 0) bound = x * scale;
        }
      } else if (t.monomial->kind == DimKind::mod && t.coefficient < 0) {
        Dim x = t.monomial->operands[0], b = t.monomial->operands[1];
        Interval ix = interval(x), ib = interval(b);
        sawMod = true;
        if (ib.low && *ib.low >= 0) {
          if (!modByDividend)
            bound = (b - 1) * scale;
          else if (ix.low && *ix.low >= 0)
            bound = x * scale;
        }
      }
      lower = lower + bound * t.coefficient;
    }
    if (nonNegative(lower + (scale - 1), depth + 1)) return true;
    if (!sawMod) break;
  }
  return false;
}

// n*n - n: at n = 0, and counted from 1. Only the sign test after the shift: what is known of the symbol does
// not hold for the shifted one, so it must not stand inside an atom.
bool DimProver::nonNegativeByZeroSplit(Dim d) {
  DimPoly p = DimBuilder::poly(d);
  std::vector<SymbolId> outside, inside;
  for (const DimTerm& t : p.terms)
    for (Dim atom : atomsOf(t.monomial)) {
      if (DimBuilder::node(atom)->symbolSet == kManySymbols) return false;
      if (!atom.isSymbol())
        for (SymbolId s : symbolsOf(atom)) inside.push_back(s);
      else if (t.monomial->degree >= 2)
        outside.push_back(atom.symbol());
    }
  for (std::vector<SymbolId>* list : {&outside, &inside}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (SymbolId symbol : outside) {
    if (std::binary_search(inside.begin(), inside.end(), symbol)) continue;
    Interval i = symbolInterval(symbol);
    if (!i.low || *i.low != 0) continue;
    if (!spend(10 + 4 * p.terms.size())) return false;
    auto with = [&](Dim value) {
      return substitute(d, [&](SymbolId s) { return s == symbol ? value : Dim(); });
    };
    if (allTermsPositive(with(impl_.context->constant(0))) &&
        allTermsPositive(with(impl_.context->symbolById(symbol) + 1)))
      return true;
  }
  return false;
}

Answer DimProver::isNonNegative(Dim d) {
  if (d.isInvalid()) return Answer::unknown;
  Dim below = impl_.context->constant(-1) - d;
  if (nonNegative(d)) return Answer::yes;
  if (nonNegative(below)) return Answer::no;
  if (d.isConstant()) return Answer::unknown;
  const SampledSigns signs = impl_.sampledSigns(d);
  if (signs.negative && (signs.zero || signs.positive)) return Answer::unknown;
  Dim simple = simplify(d);
  if (simple == d) return Answer::unknown;
  if (nonNegative(simple)) return Answer::yes;
  return nonNegative(impl_.context->constant(-1) - simple) ? Answer::no : Answer::unknown;
}

bool DimProver::differsByDivisibility(const DimPoly& p) {
  if (p.bad || p.terms.empty() || p.terms.back().monomial->degree != 0) return false;
  int64_t common = 0;
  for (size_t i = 0; i + 1 < p.terms.size(); ++i) {
    auto m = checkedMul(p.terms[i].coefficient, multipleOf(plain(p.terms[i].monomial)));
    common = std::gcd(common, m && *m != INT64_MIN                  ? *m
                              : p.terms[i].coefficient == INT64_MIN ? 1
                                                                    : p.terms[i].coefficient);
  }
  return common > 1 && p.terms.back().coefficient % common != 0;
}

// floordiv(x, k)*k = x where k divides x; mod(x, k) = x - k*floordiv(x, k). Quotients are cleared by scaling.
bool DimProver::zeroBySubstitution(Dim d) {
  for (int round = 0; round < 4 && !d.isInvalid(); ++round) {
    DimPoly p = DimBuilder::poly(d);
    if (!p.bad && p.terms.empty()) return true;
    Dim next = d;
    for (const DimTerm& t : p.terms) {
      std::vector<Dim> atoms = atomsOf(t.monomial);
      for (size_t i = 0; i < atoms.size() && next == d; ++i) {
        if (atoms[i].kind() != DimKind::mod && atoms[i].kind() != DimKind::floorDiv) continue;
        Dim x = atoms[i].operands()[0], b = atoms[i].operands()[1],
            factors = impl_.context->constant(t.coefficient);
        for (size_t j = 0; j < atoms.size(); ++j)
          if (j != i) factors = factors * atoms[j];
        Dim term = factors * atoms[i];
        if (atoms[i].kind() == DimKind::mod) {
          next = d - term + factors * (x - b * floorDiv(x, b));
        } else if (auto k = b.constant(); k && *k > 1 && *k < (1 << 20) && divides(*k, x) == Answer::yes) {
          next = (d - term) * *k + factors * x;
        }
      }
      if (next != d) break;
    }
    if (next == d || !spend(20 + p.terms.size())) return false;
    d = next;
  }
  return d.isConstant(0);
}

Answer DimProver::isZero(Dim d) {
  if (d.isInvalid()) return Answer::unknown;
  if (auto value = d.constant()) return *value == 0 ? Answer::yes : Answer::no;
  if (!trace_)
    if (const Answer* known = impl_.remembered(impl_.zeros, d.id())) return *known;
  const Answer answer = searchZero(d);
  if (!trace_) impl_.remember(impl_.zeros, d.id(), answer);
  return answer;
}

Answer DimProver::searchZero(Dim d) {
  auto quick = [&](Dim x) {
    if (auto value = x.constant()) return *value == 0 ? Answer::yes : Answer::no;
    Interval i = interval(x);
    if ((i.low && *i.low > 0) || (i.high && *i.high < 0)) return Answer::no;
    if (i.low && i.high && *i.low == 0 && *i.high == 0) return Answer::yes;
    return differsByDivisibility(DimBuilder::poly(x)) ? Answer::no : Answer::unknown;
  };
  if (Answer a = quick(d); a != Answer::unknown) return a;
  const SampledSigns signs = impl_.sampledSigns(d);
  const bool mayBeYes = !signs.negative && !signs.positive, mayBeNo = !signs.zero;
  if (!mayBeYes && !mayBeNo) return Answer::unknown;
  Dim simple = simplify(d);
  if (simple.isInvalid()) simple = d;
  if (simple != d)
    if (Answer a = quick(simple); a != Answer::unknown) return a;
  Dim opposite = simple * -1;
  if (mayBeNo && (nonNegative(simple - 1) || nonNegative(opposite - 1))) return Answer::no;
  if (mayBeYes && nonNegative(simple) && nonNegative(opposite)) return Answer::yes;
  if (mayBeYes && zeroBySubstitution(simple)) return Answer::yes;
  if (!mayBeNo) return Answer::unknown;
  NormalSum normal = DimSolver::Impl::normalSum(*impl_.context, simple);
  const SumKnowledge* known = normal.sum ? impl_.sumKnowledge(normal.sum) : nullptr;
  if (known && known->modulus > 1 && normal.factor == 1) {
    note(known->residueProof);
    auto value = checkedAdd(known->residue, normal.offset);
    if (value && *value % known->modulus != 0) return Answer::no;
  }
  return Answer::unknown;
}

// Operands first, each node once as long as nothing new is learnt. Out of budget the dim stays as it is; what
// was done is kept for the next question.
Dim DimProver::simplify(Dim d) {
  if (d.isConstant() || d.isSymbol() || d.isInvalid()) return d;
  DimBuilder builder(*impl_.context);
  std::unordered_map<const DimNode*, Dim> traced;
  auto known = [&](const DimNode* n) -> std::optional<Dim> {
    if (n->operands.empty()) return plain(n);
    if (trace_) {
      auto found = traced.find(n);
      return found == traced.end() ? std::nullopt : std::optional<Dim>(found->second);
    }
    const Dim* kept = impl_.remembered(impl_.simplified, n->id);
    return kept ? std::optional<Dim>(*kept) : std::nullopt;
  };
  const bool finished = visitOperandsFirst(DimBuilder::node(d), known, [&](const DimNode* done) {
    std::vector<Dim> operands;
    bool changed = false;
    for (Dim o : done->operands) {
      operands.push_back(*known(DimBuilder::node(o)));
      changed = changed || operands.back() != o;
    }
    if (!spend(1 + operands.size())) return false;
    Dim result = simplifyAtom(changed ? builder.rebuild(done, operands) : plain(done));
    if (exhausted()) return false;
    if (trace_)
      traced[done] = result;
    else
      impl_.remember(impl_.simplified, done->id, result);
    return true;
  });
  if (!finished) return d;
  return *known(DimBuilder::node(d));
}

Dim DimProver::simplifyAtom(Dim atom) {
  switch (atom.kind()) {
    case DimKind::min:
    case DimKind::max: {
      Dim a = atom.operands()[0], b = atom.operands()[1];
      bool isMin = atom.kind() == DimKind::min;
      if (nonNegative(b - a, 2)) return isMin ? a : b;
      if (nonNegative(a - b, 2)) return isMin ? b : a;
      return atom;
    }
    case DimKind::mul:
      return withoutPresence(atom);
    case DimKind::add:
      return sumAsChoice(atom);
    case DimKind::floorDiv:
    case DimKind::ceilDiv:
    case DimKind::mod:
      break;
    default:
      return atom;
  }
  Interval i = interval(atom);
  if (i.low && i.high && *i.low == *i.high) return impl_.context->constant(*i.low);
  return simplifyQuotient(atom);
}

// 128 - max(0, 128 - n) is min(128, n): what a slice from a clamped start leaves. Where both sides are one
// term at most.
Dim DimProver::sumAsChoice(Dim sum) {
  for (const DimTerm& t : DimBuilder::poly(sum).terms) {
    const DimKind kind = t.monomial->kind;
    if ((kind != DimKind::min && kind != DimKind::max) || (t.coefficient != 1 && t.coefficient != -1))
      continue;
    const Dim a = replaced(sum, t, t.monomial->operands[0]), b = replaced(sum, t, t.monomial->operands[1]);
    if (a.isInvalid() || b.isInvalid() || a.kind() == DimKind::add || b.kind() == DimKind::add || !spend(2))
      continue;
    return (kind == DimKind::min) == (t.coefficient > 0) ? min(a, b) : max(a, b);
  }
  return sum;
}

// x * min(1, n) is x where n >= 0 and x is 0 whenever n is: min(128, n) * min(1, n) = min(128, n). So
// exporters' shapes say "as many, if there are any".
Dim DimProver::withoutPresence(Dim product) {
  std::vector<Dim> factors(product.operands().begin(), product.operands().end());
  const Dim one = impl_.context->constant(1);
  for (size_t i = 0; i < factors.size(); ++i) {
    const Dim presence = factors[i];
    if (presence.kind() != DimKind::min || presence.operands().size() != 2) continue;
    const std::span<const Dim> sides = presence.operands();
    const Dim n = sides[0] == one ? sides[1] : sides[1] == one ? sides[0] : Dim();
    if (!n || !n.isSymbol() || !nonNegative(n, 2)) continue;
    const auto isZeroWithoutAny = [&](Dim factor) {
      return factor != presence && spend(4) && substitute(factor, [&](SymbolId s) {
                                                 return s == n.symbol() ? impl_.context->constant(0) : Dim();
                                               }).isConstant(0);
    };
    if (std::none_of(factors.begin(), factors.end(), isZeroWithoutAny)) continue;
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  if (factors.size() == product.operands().size()) return product;
  Dim result = one;
  for (Dim factor : factors) result = result * factor;
  return result;
}

// x = b*q + r: x/b = q + r/b and x mod b = r mod b, for b known not to be 0. With 0 <= r < b the rest is
// plain.
Dim DimProver::simplifyQuotient(Dim atom) {
  DimBuilder builder(*impl_.context);
  Dim x = atom.operands()[0], b = atom.operands()[1];
  Interval ib = interval(b);
  bool positive = ib.low && *ib.low > 0;
  if (!positive && !(ib.high && *ib.high < 0)) return atom;
  DimPoly divisor = DimBuilder::poly(b), quotient, rest;
  if (divisor.bad || divisor.terms.size() != 1) {
    if (x == b && atom.kind() != DimKind::mod) return impl_.context->constant(1);
    if (x == b) return impl_.context->constant(0);
  } else {
    const DimTerm by = divisor.terms[0];
    std::vector<Dim> need = atomsOf(by.monomial);
    for (const DimTerm& t : DimBuilder::poly(x).terms) {
      std::vector<Dim> atoms = atomsOf(t.monomial);
      bool whole = by.coefficient != -1 && t.coefficient % by.coefficient == 0;
      for (Dim n : need) {
        auto at = std::find(atoms.begin(), atoms.end(), n);
        whole = whole && at != atoms.end();
        if (whole) atoms.erase(at);
      }
      if (!whole) {
        rest = builder.add(rest, {{t}, false}, 1);
        continue;
      }
      Dim part = impl_.context->constant(t.coefficient / by.coefficient);
      for (Dim a : atoms) part = part * a;
      quotient = builder.add(quotient, DimBuilder::poly(part), 1);
    }
  }
  if (quotient.bad || rest.bad) return atom;
  Dim q = builder.build(quotient), r = quotient.terms.empty() ? x : builder.build(rest);
  if (auto k = b.constant(); k && *k > 1) {
    // Terms that k divides drop out of the remainder, and make a quotient of their own.
    DimPoly whole, kept;
    for (const DimTerm& t : DimBuilder::poly(r).terms)
      (divides(*k, plain(t.monomial) * t.coefficient) == Answer::yes ? whole : kept).terms.push_back(t);
    if (!whole.terms.empty() && (atom.kind() == DimKind::mod || !kept.terms.empty())) {
      q = q + floorDiv(builder.build(whole), b);
      r = builder.build(kept);
    }
  }
  if (positive && nonNegative(r, 2) && nonNegative(b - r - 1, 2)) {
    if (atom.kind() == DimKind::mod) return r;
    if (atom.kind() == DimKind::floorDiv) return q;
    return r.isConstant(0) ? q : atom;
  }
  if (r.isConstant(0)) return atom.kind() == DimKind::mod ? r : q;
  if (r == x) return atom;
  Dim remaining = builder.rebuild(DimBuilder::node(atom), {r, b});
  return atom.kind() == DimKind::mod ? remaining : q + remaining;
}

}  // namespace dyn
