#include "app/session/causes/nearest_sizes.h"

#include <algorithm>

#include "compiler/infer/infer_functions.h"

namespace dyn {

namespace {

constexpr size_t kMostSizeTries = 200'000;
constexpr size_t kMostTogether = 3;    // symbols that change together
constexpr int64_t kFarTogether = 100;  // how far, then

bool isMet(const Fact& fact, const DimBinding& sizes) {
  const Result<int64_t> a = evaluate(fact.a, sizes);
  if (!a.ok()) return false;
  if (fact.kind == FactKind::range) return (!fact.low || *a >= *fact.low) && (!fact.high || *a <= *fact.high);
  if (fact.kind == FactKind::multipleOf) return *a % fact.multiple == 0;
  const Result<int64_t> b = evaluate(fact.b, sizes);
  return b.ok() && *a == *b;
}

// All ways to change `count` numbers by `distance` in sum, each of them by 1 or more.
void addShell(size_t count, int64_t distance, std::vector<int64_t>& changes,
              std::vector<std::vector<int64_t>>& shell) {
  if (changes.size() + 1 == count) {
    for (const int64_t last : {-distance, distance}) {
      shell.push_back(changes);
      shell.back().push_back(last);
    }
    return;
  }
  const int64_t rest = static_cast<int64_t>(count - changes.size()) - 1;
  for (int64_t by = 1; by <= distance - rest; ++by)
    for (const int64_t change : {-by, by}) {
      changes.push_back(change);
      addShell(count, distance - by, changes, shell);
      changes.pop_back();
    }
}

}  // namespace

NearestSizes::NearestSizes(const Module& typed, const DimValues& now) : checks_(runChecksOf(typed)) {
  for (NamedSize& size : sizesOfInputs(typed)) {
    const auto value = now.find(size.name);
    if (value == now.end() || !size.dim.isSymbol()) continue;
    now_.set(size.dim, value->second);
    sizes_.push_back(std::move(size));
  }
  for (RunCheck& check : indexChecksOf(typed)) checks_.push_back(std::move(check));
  std::erase_if(checks_, [](const RunCheck& check) { return check.mayNotRun; });
  for (const Fact& fact : typed.context->facts().facts()) {
    if (!isStated(fact) || fact.kind == FactKind::likely) continue;
    const auto hasValue = [&](Dim dim) { return !dim || evaluate(dim, now_).ok(); };
    if (hasValue(fact.a) && hasValue(fact.b)) facts_.push_back(fact);
  }
}

bool NearestSizes::isAllowed(const DimBinding& sizes) const {
  for (const NamedSize& size : sizes_) {
    const int64_t least = std::min<int64_t>(1, *now_.get(size.dim.symbol()));
    if (*sizes.get(size.dim.symbol()) < least) return false;
  }
  return std::all_of(facts_.begin(), facts_.end(), [&](const Fact& fact) { return isMet(fact, sizes); });
}

bool NearestSizes::allHold(const DimBinding& sizes) const {
  return std::none_of(checks_.begin(), checks_.end(), [&](const RunCheck& check) {
    const Result<int64_t> lhs = evaluate(check.lhs, sizes), rhs = evaluate(check.rhs, sizes);
    return lhs.ok() && rhs.ok() && failsFor(check, *lhs, *rhs);
  });
}

const RunCheck* NearestSizes::failing(const Op* op) const {
  for (const RunCheck& check : checks_) {
    if (check.op != op) continue;
    const Result<int64_t> lhs = evaluate(check.lhs, now_), rhs = evaluate(check.rhs, now_);
    if (lhs.ok() && rhs.ok() && failsFor(check, *lhs, *rhs)) return &check;
  }
  return nullptr;
}

std::set<SymbolId> NearestSizes::symbolsOfInputs() const {
  std::set<SymbolId> symbols;
  for (const NamedSize& size : sizes_) symbols.insert(size.dim.symbol());
  return symbols;
}

std::set<SymbolId> NearestSizes::symbolsOfInputs(const RunCheck& check) const {
  std::set<SymbolId> symbols;
  for (const Dim side : {check.lhs, check.rhs})
    for (const SymbolId symbol : symbolsOf(side)) {
      if (!now_.get(symbol)) return {};
      symbols.insert(symbol);
    }
  return symbols;
}

std::vector<NearestSizes::Candidate> NearestSizes::find(const std::set<SymbolId>& symbols,
                                                        const Accepts& accepts, size_t most) const {
  const std::vector<SymbolId> all(symbols.begin(), symbols.end());
  std::vector<Candidate> found;
  size_t tries = 0;
  DimBinding sizes = now_;
  const auto consider = [&](int64_t distance) {
    ++tries;
    if (!isAllowed(sizes) || !accepts(sizes)) return;
    Candidate candidate;
    candidate.distance = distance;
    for (const NamedSize& size : sizes_) candidate.sizes[size.name] = *sizes.get(size.dim.symbol());
    found.push_back(std::move(candidate));
  };
  for (int64_t distance = 1; tries < kMostSizeTries && found.size() < most && !all.empty(); ++distance) {
    for (const SymbolId symbol : all) {
      const int64_t now = *now_.get(symbol);
      for (const int64_t change : {-distance, distance}) {
        sizes.set(symbol, now + change);
        consider(distance);
      }
      sizes.set(symbol, now);
    }
    const size_t together = std::min(all.size(), kMostTogether);
    for (size_t count = 2;
         count <= together && distance >= static_cast<int64_t>(count) && distance <= kFarTogether; ++count) {
      std::vector<std::vector<int64_t>> shell;
      std::vector<int64_t> changes;
      addShell(count, distance, changes, shell);
      std::vector<bool> chosen(all.size(), false);
      std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count), true);
      do {
        for (const std::vector<int64_t>& by : shell) {
          size_t next = 0;
          for (size_t i = 0; i < all.size(); ++i)
            if (chosen[i]) sizes.set(all[i], *now_.get(all[i]) + by[next++]);
          if (tries < kMostSizeTries) consider(distance);
        }
        for (const SymbolId symbol : all) sizes.set(symbol, *now_.get(symbol));
      } while (std::prev_permutation(chosen.begin(), chosen.end()));
    }
  }
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace dyn
