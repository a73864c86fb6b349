// Counterexamples: small values that every fact allows and that tell two dims apart.
#include <algorithm>
#include <unordered_set>

#include "compiler/dims/dim_solver_state.h"

namespace dyn {
namespace {

constexpr size_t kMaxFree = 24;       // symbols chosen
constexpr size_t kMaxTries = 4000;    // assignments
constexpr size_t kMaxWork = 400'000;  // nodes evaluated in all of them: deep dims are tried less often
constexpr size_t kMaxChecked = 4000;  // facts evaluated for an assignment

// Nodes that an evaluation of both visits, up to `most`.
size_t nodesOf(Dim a, Dim b, size_t most) {
  std::vector<const DimNode*> stack{DimBuilder::node(a), DimBuilder::node(b)};
  std::unordered_set<const DimNode*> seen;
  while (!stack.empty() && seen.size() < most) {
    const DimNode* n = stack.back();
    stack.pop_back();
    if (seen.insert(n).second)
      for (Dim o : n->operands) stack.push_back(DimBuilder::node(o));
  }
  return seen.size();
}

class Search {
 public:
  Search(DimSolver::Impl& impl, Dim a, Dim b)
      : impl_(impl), writtenA_(a), writtenB_(b), a_(impl.canonical(a)), b_(impl.canonical(b)) {
    for (Dim d : {a, b})
      for (SymbolId s : symbolsOf(d)) asked_.push_back(s);
  }

  std::optional<std::vector<std::pair<SymbolId, int64_t>>> run() {
    if (a_.isInvalid() || b_.isInvalid() || a_ == b_ || !collect()) return std::nullopt;
    const size_t tries = std::min(kMaxTries, kMaxWork / nodesOf(a_, b_, kMaxWork / 100));
    size_t combinations = 1;
    for (const auto& values : candidates_) {
      if (values.empty()) return std::nullopt;
      combinations = std::min(tries + 1, combinations * values.size());
    }
    bool all = combinations <= tries;
    uint64_t state = 88172645463325252ull;
    for (size_t attempt = 0; attempt < (all ? combinations : tries); ++attempt) {
      size_t rest = attempt;
      DimBinding binding;
      for (size_t i = 0; i < free_.size(); ++i) {
        size_t pick = rest;
        if (!all) {
          state ^= state << 13, state ^= state >> 7, state ^= state << 17;
          pick = static_cast<size_t>(state >> 11);
        }
        binding.set(free_[i], candidates_[i][pick % candidates_[i].size()]);
        rest /= candidates_[i].size();
      }
      if (tells(binding)) return values(binding);
    }
    return std::nullopt;
  }

 private:
  void addFree(Dim canonical) {
    for (SymbolId s : symbolsOf(canonical))
      if (std::find(free_.begin(), free_.end(), s) == free_.end() && free_.size() <= kMaxFree)
        free_.push_back(s);
  }

  // The free symbols that matter: of both dims, of sums they occur in, of facts about them.
  bool collect() {
    addFree(a_);
    addFree(b_);
    for (SymbolId s : asked_) collectFacts(s);
    for (size_t i = 0; i < free_.size() && free_.size() <= kMaxFree; ++i) {
      collectFacts(free_[i]);
      if (free_[i] >= impl_.sumsWithSymbol.size()) continue;
      for (uint32_t index : impl_.sumsWithSymbol[free_[i]]) {
        if (!impl_.sums[index].live) continue;
        sums_.push_back(index);
        addFree(impl_.sums[index].sum);
      }
    }
    if (free_.size() > kMaxFree) return false;
    std::sort(facts_.begin(), facts_.end());
    facts_.erase(std::unique(facts_.begin(), facts_.end()), facts_.end());
    if (facts_.size() > kMaxChecked) return false;
    for (SymbolId s : free_) candidates_.push_back(candidatesOf(s));
    return true;
  }

  void collectFacts(SymbolId s) {
    if (s >= impl_.factsOf.size()) return;
    for (uint32_t index : impl_.factsOf[s]) {
      const Fact& f = impl_.facts[index];
      if (f.kind == FactKind::likely || facts_.size() > kMaxChecked) continue;
      facts_.push_back(index);
      addFree(impl_.canonical(f.a));
      if (f.b) addFree(impl_.canonical(f.b));
    }
  }

  std::vector<int64_t> candidatesOf(SymbolId s) {
    const SymbolKnowledge& k = impl_.known(s);
    Interval i = k.range.range;
    std::vector<int64_t> tried{2, 3, 5, 7, 1, 0, 13, 32, 4, 6, 10, -1, -2};
    for (int64_t factor : {1, 2, 3, 5})
      if (auto v = checkedMul(k.multiple, factor)) tried.push_back(*v);
    for (int64_t step = 0; step < 3; ++step) {
      if (i.low)
        if (auto v = checkedAdd(*i.low, step)) tried.push_back(*v);
      if (i.high)
        if (auto v = checkedAdd(*i.high, -step)) tried.push_back(*v);
      if (auto base = i.low ? checkedCeilDiv(*i.low, k.multiple) : std::nullopt)
        if (auto v = checkedMul(*base + step, k.multiple)) tried.push_back(*v);
    }
    std::vector<int64_t> allowed;
    for (int64_t v : tried)
      if ((!i.low || v >= *i.low) && (!i.high || v <= *i.high) && v % k.multiple == 0 &&
          std::find(allowed.begin(), allowed.end(), v) == allowed.end())
        allowed.push_back(v);
    return allowed;
  }

  std::optional<int64_t> value(Dim d, const DimBinding& binding) {
    impl_.count(1);
    auto r = evaluate(impl_.canonical(d), binding);
    return r.ok() ? std::optional<int64_t>(*r) : std::nullopt;
  }

  bool tells(const DimBinding& binding) {
    auto x = value(a_, binding), y = value(b_, binding);
    if (!x || !y || *x == *y) return false;
    for (uint32_t index : sums_) {
      const SumKnowledge& sum = impl_.sums[index];
      auto v = value(sum.sum, binding);
      if (!v || (sum.range.range.low && *v < *sum.range.range.low) ||
          (sum.range.range.high && *v > *sum.range.range.high))
        return false;
      if (*checkedMod(*v, sum.modulus) != sum.residue) return false;
    }
    for (uint32_t index : facts_)
      if (!holds(impl_.facts[index], binding)) return false;
    DimBinding full = binding;
    for (SymbolId s : asked_) {
      auto v = value(impl_.context->symbolById(s), binding);
      const Interval& i = impl_.known(s).range.range;
      if (!v || (i.low && *v < *i.low) || (i.high && *v > *i.high)) return false;
      full.set(s, *v);
    }
    // As written they must be defined too: the canonical form may have lost a division by 0.
    auto writtenA = evaluate(writtenA_, full), writtenB = evaluate(writtenB_, full);
    if (!writtenA.ok() || !writtenB.ok() || *writtenA == *writtenB) return false;
    return true;
  }

  // As written, symbols by their definitions.
  bool holds(const Fact& f, const DimBinding& binding) {
    DimBinding full = binding;
    for (Dim d : {f.a, f.b}) {
      if (!d) continue;
      for (SymbolId s : symbolsOf(d)) {
        auto v = value(impl_.context->symbolById(s), binding);
        if (!v) return false;
        full.set(s, *v);
      }
    }
    auto x = evaluate(f.a, full);
    if (!x.ok()) return false;
    if (f.kind == FactKind::range) return (!f.low || *x >= *f.low) && (!f.high || *x <= *f.high);
    if (f.kind == FactKind::multipleOf) return f.multiple == 0 ? *x == 0 : *x % f.multiple == 0;
    auto y = evaluate(f.b, full);
    return y.ok() && *x == *y;
  }

  std::vector<std::pair<SymbolId, int64_t>> values(const DimBinding& binding) {
    std::vector<SymbolId> all(asked_);
    all.insert(all.end(), free_.begin(), free_.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::vector<std::pair<SymbolId, int64_t>> out;
    for (SymbolId s : all)
      if (auto v = value(impl_.context->symbolById(s), binding)) out.push_back({s, *v});
    return out;
  }

  DimSolver::Impl& impl_;
  Dim writtenA_, writtenB_, a_, b_;
  std::vector<SymbolId> asked_, free_;
  std::vector<uint32_t> sums_, facts_;
  std::vector<std::vector<int64_t>> candidates_;
};

}  // namespace

std::optional<std::vector<std::pair<SymbolId, int64_t>>> DimSolver::counterexampleEqual(Dim a, Dim b) const {
  return Search(*impl_, a, b).run();
}

}  // namespace dyn
