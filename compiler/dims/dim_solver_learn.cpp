// How a fact becomes knowledge: solve for a symbol, or keep a range or residue of a sum.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "compiler/dims/dim_solver_state.h"

namespace dyn {
namespace {

using SolverImpl = DimSolver::Impl;

std::optional<int64_t> negate(int64_t v) {
  if (v == INT64_MIN) return std::nullopt;
  return -v;
}

// The interval of x when factor*x + offset is in `r`. Bounds that do not fit are dropped: that only loses
// knowledge.
Interval solveInterval(Interval r, int64_t factor, int64_t offset) {
  auto minus = negate(offset);
  if (!minus) return {};
  auto low = r.low ? checkedAdd(*r.low, *minus) : std::nullopt;
  auto high = r.high ? checkedAdd(*r.high, *minus) : std::nullopt;
  if (factor < 0) std::swap(low, high);
  return {low ? checkedCeilDiv(*low, factor) : std::nullopt,
          high ? checkedFloorDiv(*high, factor) : std::nullopt};
}

}  // namespace

bool DimLearner::fail(std::vector<ProofId> proof) {
  conflict_ = std::move(proof);
  return false;
}

bool DimLearner::run() {
  // Each definition passes on what was known of its symbol; the cap only bounds hostile input (dropping is
  // sound).
  for (size_t done = 0; done < queue_.size() && done < 100000; ++done) {
    PendingConstraint c = queue_[done];
    impl_.count(1);
    if (!learn(c)) return false;
  }
  return true;
}

bool DimLearner::learn(const PendingConstraint& c) {
  std::vector<ProofId> proof{c.proof};
  Dim d = impl_.canonical(c.dim, &proof);
  if (d.isInvalid()) return true;
  if (c.multiple != 1) return learnMultiple(d, c.multiple, std::move(proof));
  if (c.range.low && c.range.high && *c.range.low == *c.range.high)
    return learnZero(d - *c.range.low, std::move(proof));
  return learnRange(d, c.range, c.lowersDefault && d == c.dim, std::move(proof));
}

bool DimLearner::learnZero(Dim d, std::vector<ProofId> proof) {
  DimBuilder builder(*impl_.context);
  DimPoly p = DimBuilder::poly(d);
  if (p.bad || p.terms.empty()) return true;
  // Proofs are traced where there is something to explain: what is answered without is remembered.
  if (DimProver(impl_).isZero(d) == Answer::no) {
    DimProver(impl_, &proof).isZero(d);
    return fail(std::move(proof));
  }

  // A factor of every term that can't be 0 is divided out.
  if (p.terms.back().monomial->degree > 0 && p.terms.size() > 1) {
    const DimNode* first = p.terms[0].monomial;
    std::vector<Dim> atoms =
        first->kind == DimKind::mul ? first->operands : std::vector<Dim>{DimBuilder::dim(first)};
    DimProver prover(impl_, &proof);
    for (Dim atom : atoms) {
      Interval i = prover.interval(atom);
      if (!((i.low && *i.low > 0) || (i.high && *i.high < 0))) continue;
      DimPoly quotient;
      for (const DimTerm& t : p.terms) {
        std::vector<Dim> rest = t.monomial->kind == DimKind::mul
                                    ? t.monomial->operands
                                    : std::vector<Dim>{DimBuilder::dim(t.monomial)};
        auto at = std::find(rest.begin(), rest.end(), atom);
        if (at == rest.end()) break;
        rest.erase(at);
        Dim term = impl_.context->constant(t.coefficient);
        for (Dim r : rest) term = term * r;
        quotient = builder.add(quotient, DimBuilder::poly(term), 1);
      }
      if (quotient.bad || quotient.terms.size() != p.terms.size()) continue;
      p = std::move(quotient);
    }
    d = builder.build(p);
  }

  NormalSum normal = SolverImpl::normalSum(*impl_.context, d);
  if (!normal.sum || normal.offset == INT64_MIN) return true;
  if (normal.offset % normal.factor != 0) return fail(std::move(proof));
  auto value = checkedFloorDiv(normal.offset, normal.factor);
  auto target = value ? negate(*value) : std::nullopt;
  if (!target) return true;
  ProofId why = impl_.prove(kNoFact, std::move(proof));

  // Solve sum = target for a symbol that occurs once, with coefficient ±1.
  p = DimBuilder::poly(normal.sum);
  std::unordered_map<SymbolId, int> uses;
  for (const DimTerm& t : p.terms)
    for (SymbolId s : symbolsOf(DimBuilder::dim(t.monomial))) ++uses[s];
  std::optional<DimTerm> best;
  std::tuple<bool, bool, int64_t> bestRank;
  for (const DimTerm& t : p.terms) {
    if (t.monomial->kind != DimKind::symbol || (t.coefficient != 1 && t.coefficient != -1)) continue;
    SymbolId s = t.monomial->symbol;
    if (uses[s] != 1) continue;
    bool sameSign = false;
    for (const DimTerm& o : p.terms)
      sameSign = sameSign || (o.monomial != t.monomial && (o.coefficient > 0) == (t.coefficient > 0));
    std::tuple<bool, bool, int64_t> rank{p.terms.size() > 2 && sameSign, !impl_.context->isAnonymous(s),
                                         -int64_t{s}};
    if (!best || rank < bestRank) best = t, bestRank = rank;
  }
  if (best) {
    Dim symbol = DimBuilder::dim(best->monomial);
    Dim rest = normal.sum - symbol * best->coefficient;
    Dim solved = best->coefficient == 1 ? impl_.context->constant(*target) - rest : rest - *target;
    if (!solved.isInvalid()) return define(best->monomial->symbol, solved, why);
  }
  uint32_t index = sumEntry(normal.sum);
  KnownRange old = impl_.sums[index].range;
  impl_.sums[index].range = {{target, target}, why, why};
  impl_.undo.push_back([index, old](SolverImpl& impl) { impl.sums[index].range = old; });
  ++impl_.generation;
  spreadToSymbols(normal.sum, {target, target}, why);
  return true;
}

bool DimLearner::define(SymbolId s, Dim value, ProofId proof) {
  SymbolKnowledge& k = impl_.known(s);
  KnownRange range = k.range;
  int64_t multiple = k.multiple;
  ProofId multipleProof = k.multipleProof;
  k.definition = k.shortcut = value;
  k.proof = k.shortcutProof = proof;
  ++impl_.definitionCount;
  ++impl_.definitionGeneration;
  impl_.undo.push_back([s](SolverImpl& impl) {
    SymbolKnowledge& known = impl.known(s);
    known.definition = known.shortcut = Dim();
    known.proof = known.shortcutProof = 0;
    --impl.definitionCount;
    ++impl.definitionGeneration;
  });
  ++impl_.generation;
  // What was known of the symbol now holds for its value, unless that is plain to see.
  Interval now = DimProver(impl_).interval(value);
  Interval wanted = range.range;
  if (wanted.low && now.low && *now.low >= *wanted.low) wanted.low.reset();
  if (wanted.high && now.high && *now.high <= *wanted.high) wanted.high.reset();
  // The two sides go separately: each has its own proof.
  if (wanted.low) push({value, {wanted.low, std::nullopt}, 1, impl_.prove(kNoFact, {range.lowProof, proof})});
  if (wanted.high)
    push({value, {std::nullopt, wanted.high}, 1, impl_.prove(kNoFact, {range.highProof, proof})});
  if (multiple > 1 && DimProver(impl_).divides(multiple, value) != Answer::yes)
    push({value, {}, multiple, impl_.prove(kNoFact, {multipleProof, proof})});
  if (s >= impl_.sumsWithSymbol.size()) return true;
  for (uint32_t index : impl_.sumsWithSymbol[s]) {
    SumKnowledge& sum = impl_.sums[index];
    if (!sum.live) continue;
    sum.live = false;
    impl_.undo.push_back([index](SolverImpl& impl) { impl.sums[index].live = true; });
    if (sum.range.range.low && sum.range.range.high && *sum.range.range.low == *sum.range.range.high) {
      push({sum.sum, sum.range.range, 1, impl_.prove(kNoFact, {sum.range.lowProof, sum.range.highProof})});
    } else {
      if (sum.range.range.low) push({sum.sum, {sum.range.range.low, std::nullopt}, 1, sum.range.lowProof});
      if (sum.range.range.high) push({sum.sum, {std::nullopt, sum.range.range.high}, 1, sum.range.highProof});
    }
    if (sum.modulus > 1) push({sum.sum - sum.residue, {}, sum.modulus, sum.residueProof});
  }
  return true;
}

uint32_t DimLearner::sumEntry(Dim sum) {
  const DimNode* node = DimBuilder::node(sum);
  auto [at, fresh] = impl_.sumIndex.try_emplace(node, static_cast<uint32_t>(impl_.sums.size()));
  uint32_t index = at->second;
  if (!fresh) {
    if (!impl_.sums[index].live) {
      SumKnowledge old = impl_.sums[index];
      impl_.sums[index] = SumKnowledge{sum, {}, 1, 0, 0, true};
      impl_.undo.push_back([index, old](SolverImpl& impl) { impl.sums[index] = old; });
    }
    return index;
  }
  impl_.sums.push_back({sum, {}, 1, 0, 0, true});
  std::vector<SymbolId> symbols = symbolsOf(sum);
  if (!symbols.empty() && symbols.back() >= impl_.sumsWithSymbol.size())
    impl_.sumsWithSymbol.resize(impl_.context->symbolCount());
  for (SymbolId s : symbols) impl_.sumsWithSymbol[s].push_back(index);
  for (const DimTerm& t : DimBuilder::poly(sum).terms) impl_.sumsWithTerm[t.monomial].push_back(index);
  impl_.undo.push_back([node, symbols](SolverImpl& impl) {
    for (SymbolId s : symbols) impl.sumsWithSymbol[s].pop_back();
    for (const DimTerm& t : DimBuilder::poly(DimBuilder::dim(node)).terms)
      impl.sumsWithTerm[t.monomial].pop_back();
    impl.sumIndex.erase(node);
    impl.sums.pop_back();
  });
  return index;
}

bool DimLearner::learnRange(Dim d, Interval range, bool lowersDefault, std::vector<ProofId> proof) {
  if (auto value = d.constant()) {
    bool fits = (!range.low || *value >= *range.low) && (!range.high || *value <= *range.high);
    return fits || fail(std::move(proof));
  }
  if (range.low && range.high && *range.low > *range.high) return fail(std::move(proof));
  bool mayLower = lowersDefault && d.isSymbol() && !impl_.known(d.symbol()).lowGiven;
  if (!mayLower) {
    Interval now = DimProver(impl_).interval(d);
    if ((now.low && range.high && *now.low > *range.high) ||
        (now.high && range.low && *now.high < *range.low)) {
      DimProver(impl_, &proof).interval(d);
      return fail(std::move(proof));
    }
  }
  NormalSum normal = SolverImpl::normalSum(*impl_.context, d);
  if (!normal.sum) return true;
  Interval solved = solveInterval(range, normal.factor, normal.offset);
  if (solved.low && solved.high && *solved.low > *solved.high)
    return fail(std::move(proof));  // 1 <= 4*n <= 3
  ProofId why = impl_.prove(kNoFact, std::move(proof));
  if (normal.sum.isSymbol()) return tightenSymbol(normal.sum.symbol(), solved, lowersDefault, why);
  uint32_t index = sumEntry(normal.sum);
  KnownRange old = impl_.sums[index].range;
  KnownRange& r = impl_.sums[index].range;
  if (solved.low && (!r.range.low || *solved.low > *r.range.low)) r.range.low = solved.low, r.lowProof = why;
  if (solved.high && (!r.range.high || *solved.high < *r.range.high))
    r.range.high = solved.high, r.highProof = why;
  impl_.undo.push_back([index, old](SolverImpl& impl) { impl.sums[index].range = old; });
  ++impl_.generation;
  if (r.range.low && r.range.high && *r.range.low > *r.range.high) return fail({r.lowProof, r.highProof});
  if (r.range.low && r.range.high && *r.range.low == *r.range.high)
    push({normal.sum, r.range, 1, impl_.prove(kNoFact, {r.lowProof, r.highProof})});
  spreadToSymbols(normal.sum, solved, why);
  return true;
}

// n + m <= 10 with m >= 0 gives n <= 10. One step only: no chase of ever tighter bounds.
void DimLearner::spreadToSymbols(Dim sum, Interval range, ProofId proof) {
  DimPoly p = DimBuilder::poly(sum);
  if (p.terms.size() > 8) return;
  for (const DimTerm& t : p.terms) {
    if (t.monomial->kind != DimKind::symbol) continue;
    std::vector<ProofId> proofs{proof};
    Interval others = DimProver(impl_, &proofs).interval(sum - DimBuilder::dim(t.monomial) * t.coefficient);
    Interval mine;  // of coefficient*symbol = sum - others
    auto minusHigh = others.high ? negate(*others.high) : std::nullopt;
    auto minusLow = others.low ? negate(*others.low) : std::nullopt;
    if (range.low && minusHigh) mine.low = checkedAdd(*range.low, *minusHigh);
    if (range.high && minusLow) mine.high = checkedAdd(*range.high, *minusLow);
    Interval solved = solveInterval(mine, t.coefficient, 0);
    Interval now = DimProver(impl_).interval(DimBuilder::dim(t.monomial));
    if (now.low && solved.low && *solved.low <= *now.low) solved.low.reset();
    if (now.high && solved.high && *solved.high >= *now.high) solved.high.reset();
    if (!solved.low && !solved.high) continue;
    push({DimBuilder::dim(t.monomial), solved, 1, impl_.prove(kNoFact, std::move(proofs))});
  }
}

bool DimLearner::tightenSymbol(SymbolId s, Interval range, bool lowersDefault, ProofId proof) {
  SymbolKnowledge& k = impl_.known(s);
  KnownRange old = k.range;
  bool oldGiven = k.lowGiven;
  bool replaces = lowersDefault && !k.lowGiven;
  if (range.low && (replaces || !k.range.range.low || *range.low > *k.range.range.low)) {
    k.range.range.low = range.low;
    k.range.lowProof = proof;
    k.lowGiven = true;
  }
  if (range.high && (!k.range.range.high || *range.high < *k.range.range.high)) {
    k.range.range.high = range.high;
    k.range.highProof = proof;
  }
  impl_.undo.push_back([s, old, oldGiven](SolverImpl& impl) {
    impl.known(s).range = old;
    impl.known(s).lowGiven = oldGiven;
  });
  ++impl_.generation;
  std::vector<ProofId> proofs;
  Interval now = DimProver(impl_, &proofs).interval(impl_.context->symbolById(s));
  if (!now.low || !now.high) return true;
  proofs.push_back(proof);
  if (*now.low > *now.high) return fail(std::move(proofs));
  if (*now.low == *now.high)
    push({impl_.context->symbolById(s), now, 1, impl_.prove(kNoFact, std::move(proofs))});
  return true;
}

bool DimLearner::learnMultiple(Dim d, int64_t multiple, std::vector<ProofId> proof) {
  Answer now = DimProver(impl_).divides(multiple, d);
  if (now == Answer::no) {
    DimProver(impl_, &proof).divides(multiple, d);
    return fail(std::move(proof));
  }
  if (now == Answer::yes || d.isConstant()) return true;
  NormalSum normal = SolverImpl::normalSum(*impl_.context, d);
  if (!normal.sum || normal.factor == INT64_MIN) return true;
  // factor*sum + offset ≡ 0 (mod multiple): solvable for sum by a modular inverse after dividing by the gcd.
  int64_t common = std::gcd(normal.factor, multiple);
  if (normal.offset % common != 0) return fail(std::move(proof));
  int64_t modulus = multiple / common;
  if (modulus == 1) return true;
  int64_t residue = 0;
  if (normal.offset % multiple != 0) {
    if (modulus > 1000000) return true;
    int64_t factor = *checkedMod(normal.factor / common, modulus);
    int64_t want = *checkedMod(-(normal.offset / common % modulus), modulus);
    int64_t a = factor, b = modulus, x = 1, y = 0;  // extended Euclid
    while (b) {
      int64_t q = a / b;
      std::tie(a, b) = std::pair(b, a - q * b);
      std::tie(x, y) = std::pair(y, x - q * y);
    }
    residue = *checkedMod(want * *checkedMod(x, modulus), modulus);
  }
  ProofId why = impl_.prove(kNoFact, std::move(proof));
  if (normal.sum.isSymbol() && residue == 0) {
    SymbolId s = normal.sum.symbol();
    SymbolKnowledge& k = impl_.known(s);
    auto both = checkedMul(k.multiple / std::gcd(k.multiple, modulus), modulus);
    if (!both) return true;
    int64_t old = k.multiple;
    ProofId oldProof = k.multipleProof;
    k.multiple = *both;
    k.multipleProof = impl_.prove(kNoFact, {oldProof, why});
    impl_.undo.push_back([s, old, oldProof](SolverImpl& impl) {
      impl.known(s).multiple = old;
      impl.known(s).multipleProof = oldProof;
    });
    ++impl_.generation;
    return tightenSymbol(s, {}, false, k.multipleProof);
  }
  uint32_t index = sumEntry(normal.sum);
  SumKnowledge& sum = impl_.sums[index];
  if (sum.modulus % modulus == 0)
    return *checkedMod(sum.residue, modulus) == residue || fail({sum.residueProof, why});
  if (modulus % sum.modulus != 0) return true;  // two unrelated residues: the first is kept
  if (*checkedMod(residue, sum.modulus) != sum.residue) return fail({sum.residueProof, why});
  impl_.undo.push_back([index, modulusBefore = sum.modulus, residueBefore = sum.residue,
                        proofBefore = sum.residueProof](SolverImpl& impl) {
    impl.sums[index].modulus = modulusBefore;
    impl.sums[index].residue = residueBefore;
    impl.sums[index].residueProof = proofBefore;
  });
  sum.modulus = modulus;
  sum.residue = residue;
  sum.residueProof = why;
  ++impl_.generation;
  return true;
}

}  // namespace dyn
