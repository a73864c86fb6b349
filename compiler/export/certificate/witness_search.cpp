#include "compiler/export/certificate/witness_search.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace dyn {

namespace {

using certificate::AtomId;
using certificate::Atoms;
using certificate::Monomial;
using certificate::Operation;
using certificate::Polynomial;
using certificate::Scope;

constexpr int kBudget = 500, kBudgetOfCase = 200, kBudgetOfPeeling = 30;  // steps of one combination
constexpr int kPeelings = 60;                                             // of one claim
// Most proofs are short: those are tried first.
constexpr std::array<int, 3> kStepDepths = {3, 6, 14};
constexpr int kCaseDepth = 2, kMaximumCases = 16;
constexpr int64_t kMaximumSteps = 150'000;  // of a program; from there on no cases are tried
// Terms that facts leave, of a program: from there on short proofs alone are looked for.
constexpr int64_t kMaximumWork = 25'000'000;
constexpr int kBudgetAtLast = 40;
constexpr size_t kMaximumSplits = 8, kMaximumAtoms = 24, kMaximumNear = 200, kMaximumScalings = 3;
constexpr int64_t kMaximumScale = 1 << 20;

// The atoms of `whole` without those of `part`; nothing when they are not all there.
std::optional<Monomial> quotient(const Monomial& whole, const Monomial& part) {
  if (!std::includes(whole.begin(), whole.end(), part.begin(), part.end())) return std::nullopt;
  Monomial rest;
  std::set_difference(whole.begin(), whole.end(), part.begin(), part.end(), std::back_inserter(rest));
  return rest;
}

// The atoms of `p`, and what they are operations on: a number that is too small for `p` may be a bound of
// any.
std::set<AtomId> atomsBelow(const Atoms& atoms, const Polynomial& p, size_t most = kMaximumAtoms) {
  std::set<AtomId> met;
  std::vector<const Polynomial*> work{&p};
  while (!work.empty() && met.size() < most) {
    const Polynomial& next = *work.back();
    work.pop_back();
    for (const auto& [monomial, coefficient] : next.terms)
      for (const AtomId atom : monomial)
        if (met.insert(atom).second) {
          work.push_back(&atoms[atom].a);
          work.push_back(&atoms[atom].b);
        }
  }
  return met;
}

// Is the square of `symbol` in what an atom of `p` is an operation on?
bool hasSquare(const Atoms& atoms, const Polynomial& p, AtomId symbol) {
  for (const auto& [monomial, coefficient] : p.terms)
    for (const AtomId atom : monomial)
      for (const Polynomial* operand : {&atoms[atom].a, &atoms[atom].b})
        for (const auto& [inner, factor] : operand->terms)
          if (std::count(inner.begin(), inner.end(), symbol) > 1) return true;
  return false;
}

// The quotients in `p`, and those that they are quotients of.
std::vector<AtomId> quotientsBelow(const Atoms& atoms, const Polynomial& p) {
  std::vector<AtomId> met;
  const auto add = [&](const Polynomial& of) {
    for (const auto& [monomial, coefficient] : of.terms)
      for (const AtomId atom : monomial)
        if (atoms[atom].kind == Operation::floorDiv && std::find(met.begin(), met.end(), atom) == met.end())
          met.push_back(atom);
  };
  add(p);
  for (size_t i = 0; i < met.size() && met.size() < kMaximumAtoms; ++i) add(atoms[met[i]].a);
  return met;
}

// The number of a fact in a witness.
std::optional<uint64_t> numberOf(const Polynomial& fact, const Atoms& atoms, const Scope& scope) {
  const auto within = [&](const std::vector<Polynomial>& facts) {
    return static_cast<uint64_t>(std::find(facts.begin(), facts.end(), fact) - facts.begin());
  };
  if (const uint64_t at = within(scope.facts); at < scope.facts.size()) return 2 * at + 1;
  if (const uint64_t at = within(atoms.facts()); at < atoms.facts().size()) return 2 * at;
  return std::nullopt;
}

}  // namespace

void WitnessSearch::noteFacts(const Atoms& atoms) {
  if (atoms_ != &atoms || noted_ > atoms.facts().size()) factsOf_.clear(), noted_ = 0;
  atoms_ = &atoms;
  for (; noted_ < atoms.facts().size(); ++noted_) {
    Monomial mentioned;
    for (const auto& [monomial, coefficient] : atoms.facts()[noted_].terms)
      mentioned.insert(mentioned.end(), monomial.begin(), monomial.end());
    std::sort(mentioned.begin(), mentioned.end());
    mentioned.erase(std::unique(mentioned.begin(), mentioned.end()), mentioned.end());
    for (const AtomId atom : mentioned) factsOf_[atom].push_back(noted_);
  }
}

bool WitnessSearch::combine(Problem& problem, const Polynomial& p, int depth) {
  const Atoms& atoms = problem.atoms;
  if (atoms.isPlainlyNonNegative(p, problem.scope)) return true;
  if (depth >= problem.deepest || --problem.budget < 0) return false;
  ++steps_;
  // The term to get rid of: that of the newest atom, which is the innermost loop variable or operation.
  const Monomial* worst = nullptr;
  int64_t coefficient = 0;
  for (const auto& [monomial, factor] : p.terms) {
    Polynomial term;
    term.terms[monomial] = factor;
    if (atoms.isPlainlyNonNegative(term, problem.scope)) continue;
    const auto newest = [](const Monomial& m) { return m.empty() ? -1 : static_cast<int64_t>(m.back()); };
    if (!worst || newest(monomial) > newest(*worst) ||
        (newest(monomial) == newest(*worst) && monomial.size() > worst->size())) {
      worst = &monomial;
      coefficient = factor;
    }
  }
  const auto badTerms = [&](const Polynomial& q, const Problem& in) {
    size_t count = 0;
    for (const auto& [monomial, factor] : q.terms) {
      Polynomial term;
      term.terms[monomial] = factor;
      count += atoms.isPlainlyNonNegative(term, in.scope) ? 0 : 1;
    }
    return count;
  };
  // What is left when a fact takes the term away; the best first.
  struct Candidate {
    Step step;
    int64_t scale = 1;
    Polynomial next;
    std::tuple<size_t, bool, size_t, bool> cost;
  };
  std::vector<Candidate> candidates;
  // x - c >= 0 makes m*x of c*m: where the claim has some of it, or once for a symbol that was split.
  const auto isRaising = [&](const Polynomial& fact, const Monomial& term) {
    if (fact.terms.size() != 2 || !fact.terms.begin()->first.empty()) return false;
    const auto& [least, factor] = *fact.terms.rbegin();
    if (factor < 0) return false;
    if (split_ && factor == 1 && least == Monomial{*split_})
      return std::count(term.begin(), term.end(), *split_) == 1;
    const auto at = p.terms.find(certificate::product(term, least));
    return at != p.terms.end() && at->second > 0;
  };
  // Facts about what the claim is made of come before those about what is made of its atoms, too.
  const auto isForeign = [&](const Polynomial& fact) {
    return std::any_of(fact.terms.begin(), fact.terms.end(), [&](const auto& term) {
      return std::any_of(term.first.begin(), term.first.end(),
                         [&](AtomId atom) { return problem.near.count(atom) == 0; });
    });
  };
  const auto consider = [&](const Polynomial& fact, uint64_t number) {
    for (const auto& [monomial, factor] : fact.terms) {
      if ((factor < 0) != (coefficient < 0)) continue;
      if (monomial.empty() != worst->empty() && !isRaising(fact, *worst)) continue;
      const std::optional<Monomial> rest = quotient(*worst, monomial);
      const bool isUsable = rest && std::all_of(rest->begin(), rest->end(), [&](AtomId a) {
                              return atoms.isNonNegative(a, problem.scope);
                            });
      if (!isUsable) continue;
      // scale*p - times*rest*fact has no such term.
      const int64_t common = std::gcd(coefficient, factor), sign = factor < 0 ? -1 : 1;
      const int64_t scale = sign * (factor / common), times = sign * (coefficient / common);
      if (scale > kMaximumScale / problem.scale) continue;
      Polynomial multiplier;
      multiplier.terms[*rest] = times;
      const std::optional<Polynomial> part = product(multiplier, fact);
      const std::optional<Polynomial> scaled = scaledSum(Polynomial(), p, scale);
      std::optional<Polynomial> next = part && scaled ? scaledSum(*scaled, *part, -1) : std::nullopt;
      if (!next) continue;
      const size_t bad = badTerms(*next, problem);
      candidates.push_back({{number, times, *rest},
                            scale,
                            *std::move(next),
                            {bad, isForeign(fact), fact.terms.size(), scale > 1}});
    }
  };
  for (size_t i = problem.scope.facts.size(); i-- > 0;) consider(problem.scope.facts[i], 2 * i + 1);
  for (const AtomId atom : worst->empty() ? atomsBelow(atoms, p) : std::set(worst->begin(), worst->end()))
    if (const auto at = factsOf_.find(atom); at != factsOf_.end())
      for (const size_t fact : at->second) consider(atoms.facts()[fact], 2 * fact);
  work_ += static_cast<int64_t>(candidates.size() * (1 + p.terms.size()));
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  for (const Candidate& each : candidates) {
    if (!problem.tried.insert(each.next.terms).second) continue;
    const std::vector<Step> before = problem.steps;
    const int64_t scaleBefore = problem.scale;
    for (Step& step : problem.steps) step.coefficient *= each.scale;
    problem.scale *= each.scale;
    problem.steps.push_back(each.step);
    // The claim is of integers: scale - 1 more is allowed.
    const std::optional<Polynomial> slack = scaledSum(each.next, Polynomial(1), problem.scale - 1);
    if (slack && atoms.isPlainlyNonNegative(*slack, problem.scope)) return true;
    if (combine(problem, each.next, depth + 1)) return true;
    problem.steps = before;
    problem.scale = scaleBefore;
    if (problem.budget < 0) return false;
  }
  return false;
}

void WitnessSearch::write(const Problem& problem, ByteWriter& out) {
  out.number(1);
  out.number(static_cast<uint64_t>(problem.scale));
  out.number(problem.steps.size());
  for (const Step& step : problem.steps) {
    out.number(step.fact);
    out.number(static_cast<uint64_t>(step.coefficient));
    out.number(step.monomial.size());
    for (const AtomId atom : step.monomial) out.number(atom);
  }
}

// The room of an arena is 64*floordiv(max(a, max(b, c)) + 63, 64) and more: at least one of a, b, c. `fresh`:
// where the next quotient or maximum is looked for.
bool WitnessSearch::peel(Problem& problem, const Polynomial& p, const Polynomial& fresh, int& tries) {
  const Atoms& atoms = problem.atoms;
  for (const auto& [monomial, coefficient] : fresh.terms) {
    const auto at = p.terms.find(monomial);
    if (monomial.size() != 1 || at == p.terms.end() || at->second < 1) continue;
    const certificate::Atom& atom = atoms[monomial[0]];
    const bool isQuotient = atom.kind == Operation::floorDiv && atom.b.constant().value_or(0) > 0;
    if (!isQuotient && atom.kind != Operation::maximum) continue;
    const int64_t divisor = isQuotient ? *atom.b.constant() : 1;
    if (at->second % divisor != 0) continue;
    for (const Polynomial* operand : {&atom.a, &atom.b}) {
      if (isQuotient && operand == &atom.b) continue;
      // divisor*atom + divisor - 1 - operand >= 0
      const certificate::Value held =
          scaledSum(Polynomial(divisor - 1), certificate::ofAtom(monomial[0]), divisor);
      const certificate::Value fact = difference(held, *operand);
      const std::optional<uint64_t> number = fact ? numberOf(*fact, atoms, problem.scope) : std::nullopt;
      const int64_t times = at->second / divisor;
      const certificate::Value next = number ? scaledSum(p, *fact, -times) : std::nullopt;
      if (!next) continue;
      if (--tries < 0) return false;
      const std::vector<Step> before = problem.steps;
      problem.steps.push_back({*number, times, {}});
      problem.deepest = static_cast<int>(kStepDepths[0]);
      problem.budget = kBudgetOfPeeling;
      if (combine(problem, *next, 0) || peel(problem, *next, *operand, tries)) return true;
      problem.steps = before;
      problem.scale = 1;
    }
  }
  return false;
}

bool WitnessSearch::cases(const Atoms& atoms, const Scope& scope, const Polynomial& p, int depth,
                          ByteWriter& out) {
  if (atoms.isPlainlyNonNegative(p, scope)) {
    out.number(0);
    return true;
  }
  if (++cases_ > kMaximumCases) return false;
  const std::set<AtomId> near = atomsBelow(atoms, p, kMaximumNear);
  const bool isLate = work_ >= kMaximumWork;
  for (const int deepest : kStepDepths) {
    const int budget = isLate ? kBudgetAtLast : depth == 0 ? kBudget : kBudgetOfCase;
    Problem problem{atoms, scope, near, deepest, budget, {}, 1, {}};
    if (!combine(problem, p, 0)) continue;
    write(problem, out);
    return true;
  }
  if (isLate) return false;
  Problem problem{atoms, scope, near, 0, 0, {}, 1, {}};
  int tries = kPeelings;
  if (depth == 0 && peel(problem, p, p, tries)) {
    write(problem, out);
    return true;
  }
  if (scaled(atoms, scope, p, out)) return true;
  if (depth >= caseDepth_) return false;
  for (const AtomId atom : splittable(atoms, scope, p)) {
    const size_t before = out.bytes.size();
    out.number(2);
    out.number(atom);
    bool isShown = true;
    const std::optional<AtomId> outer = split_;
    if (!certificate::hasCases(atoms[atom].kind)) split_ = atom;
    for (const certificate::Alternative& each : alternatives(atoms, atom)) {
      Scope inside = scope;
      for (const Polynomial& fact : each.facts) learn(inside, atoms, fact);
      const std::optional<Polynomial> claim = replaced(p, atom, each.value);
      isShown = isShown && claim && cases(atoms, inside, *claim, depth + 1, out);
    }
    split_ = outer;
    if (isShown) return true;
    out.bytes.resize(before);
  }
  return false;
}

// The atoms that have cases: those of the claim, the newest first, then those of the facts about its atoms.
std::vector<AtomId> WitnessSearch::splittable(const Atoms& atoms, const Scope& scope, const Polynomial& p) {
  std::vector<AtomId> result;
  std::set<AtomId> mentioned, met;
  const auto add = [&](const Polynomial& of) {
    std::set<AtomId> own;
    for (const auto& [monomial, coefficient] : of.terms) own.insert(monomial.begin(), monomial.end());
    for (auto atom = own.rbegin(); atom != own.rend(); ++atom)
      if (certificate::hasCases(atoms[*atom].kind) && met.insert(*atom).second) result.push_back(*atom);
    return own;
  };
  mentioned = add(p);
  for (size_t i = scope.facts.size(); i-- > 0 && result.size() < kMaximumSplits;) {
    const Polynomial& fact = scope.facts[i];
    const bool isAbout = std::any_of(mentioned.begin(), mentioned.end(),
                                     [&](AtomId atom) { return certificate::mentions(fact, atom); });
    if (isAbout) add(fact);
  }
  for (size_t i = 0; i < result.size() && result.size() < kMaximumSplits; ++i) {
    const certificate::Atom& atom = atoms[result[i]];
    add(atom.a);
    add(atom.b);
  }
  // Whether a symbol is 0 matters only where a fact has its square.
  for (const AtomId atom : mentioned)
    if (atoms[atom].kind == Operation::symbol && atoms[atom].isNonNegative && hasSquare(atoms, p, atom))
      result.push_back(atom);
  return result;
}

// By a divisor that is at least 1 in this scope: of u < m*k follows floordiv(u, k) < m. Of quotients of
// quotients, as the units of a kernel are taken apart, by one divisor after the other.
bool WitnessSearch::scaled(const Atoms& atoms, const Scope& scope, const Polynomial& p, ByteWriter& out) {
  if (scaledBy_.size() >= kMaximumScalings) return false;
  for (const AtomId atom : quotientsBelow(atoms, p)) {
    if (atoms[atom].b.constant()) continue;
    const Polynomial& divisor = atoms[atom].b;
    if (std::find(scaledBy_.begin(), scaledBy_.end(), divisor) != scaledBy_.end()) continue;
    const certificate::Value least = scaledSum(divisor, Polynomial(1), -1);
    const std::optional<uint64_t> fact = least ? numberOf(*least, atoms, scope) : std::nullopt;
    const certificate::Value claim = fact ? sum(product(divisor, p), *least) : std::nullopt;
    if (!claim) continue;
    const size_t before = out.bytes.size();
    out.number(4);
    out.number(*fact);
    scaledBy_.push_back(divisor);
    const bool isShown = cases(atoms, scope, *claim, kCaseDepth, out);
    scaledBy_.pop_back();
    if (isShown) return true;
    out.bytes.resize(before);
  }
  return false;
}

bool WitnessSearch::find(const Atoms& atoms, const Scope& scope, const Polynomial& p, ByteWriter& out) {
  noteFacts(atoms);
  const size_t before = out.bytes.size();
  // One case inside of another is tried when none alone is enough.
  const int deepest = steps_ < kMaximumSteps ? kCaseDepth : 0;
  for (caseDepth_ = 0; caseDepth_ <= deepest; ++caseDepth_) {
    cases_ = 0;
    if (cases(atoms, scope, p, 0, out)) return true;
    out.bytes.resize(before);
  }
  return false;
}

}  // namespace dyn
