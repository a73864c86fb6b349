#include "app/session/answers/size_check.h"

#include <algorithm>
#include <set>

#include "app/engine/model/model_info.h"
#include "app/session/answers/run_checks.h"
#include "app/session/explain/dim_guards.h"
#include "app/session/views/problem_views.h"
#include "compiler/infer/infer.h"
#include "compiler/infer/infer_functions.h"

namespace dyn {
namespace {

constexpr size_t kMostTries = 200'000;   // assignments of sizes
constexpr int64_t kFirstSizes = 20'000;  // of a symbol alone: all of so many
constexpr int64_t kFewSizes = 64;        // beside others
constexpr size_t kMostVerified = 20;     // findings; further ones are counted
constexpr int64_t kMostBound = 1 << 30;

// Numbers of a dim's formula: sizes near to them decide.
void addNumbers(Dim root, std::set<int64_t>& numbers) {
  std::vector<Dim> stack{root};
  std::set<uint32_t> seen;
  while (!stack.empty()) {
    const Dim dim = stack.back();
    stack.pop_back();
    if (!dim || !seen.insert(dim.id()).second) continue;
    if (const auto number = dim.constant(); number && *number > -kMostBound && *number < kMostBound)
      for (const int64_t near : {-1, 0, 1}) numbers.insert(std::abs(*number) + near);
    if (dim.isConstant() || dim.isSymbol() || dim.isInvalid()) continue;
    for (const Dim operand : dim.operands()) stack.push_back(operand);
  }
}

bool isTrue(const Fact& fact, const DimBinding& sizes) {
  const Result<int64_t> a = evaluate(fact.a, sizes);
  if (!a.ok()) return false;
  if (fact.kind == FactKind::range) return (!fact.low || *a >= *fact.low) && (!fact.high || *a <= *fact.high);
  if (fact.kind == FactKind::multipleOf) return fact.multiple == 0 ? *a == 0 : *a % fact.multiple == 0;
  const Result<int64_t> b = evaluate(fact.b, sizes);
  return b.ok() && *a == *b;
}

// Does it fail at these sizes? Where a side has no value: no.
bool fails(const RunCheck& check, const DimBinding& sizes) {
  const Result<int64_t> lhs = evaluate(check.lhs, sizes), rhs = evaluate(check.rhs, sizes);
  return lhs.ok() && rhs.ok() && failsFor(check, *lhs, *rhs);
}

class SizeSearch {
 public:
  explicit SizeSearch(const Module& module)
      : sizes_(sizesOfInputs(module)),
        stated_(solverWithout(module.context->facts(), [](const Fact& fact) { return !isStated(fact); })) {
    for (const NamedSize& size : sizes_) inputs_.insert(size.dim.symbol());
    for (const Fact& fact : stated_->facts())
      if (fact.kind != FactKind::likely && isOfInputs(fact.a) && (!fact.b || isOfInputs(fact.b)))
        facts_.push_back(fact);
  }

  bool isOfInputs(Dim dim) const {
    const std::vector<SymbolId> symbols = symbolsOf(dim);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return inputs_.count(s) != 0; });
  }

  struct Found {
    DimBinding sizes;
    bool any = false;
    bool all = true;  // every assignment was looked at
  };
  // The assignment of the smallest sum that all facts allow, for which `before` holds and `check` fails.
  // Null: the smallest that is allowed.
  Found smallest(const RunCheck* check, const std::vector<RunCheck>& before) {
    std::set<SymbolId> symbols;
    std::set<int64_t> numbers;
    if (check) {
      for (const Dim side : {check->lhs, check->rhs}) {
        for (const SymbolId s : symbolsOf(side)) symbols.insert(s);
        addNumbers(side, numbers);
      }
      close(symbols, numbers);
    }
    Found found = search(symbols, numbers, [&](const DimBinding& sizes) {
      return !check ||
             (fails(*check, sizes) &&
              std::none_of(before.begin(), before.end(), [&](const RunCheck& b) { return fails(b, sizes); }));
    });
    if (!found.any) return found;
    // All others as small as they may be.
    for (const NamedSize& size : sizes_) {
      if (symbols.count(size.dim.symbol()) != 0) continue;
      std::set<SymbolId> others{size.dim.symbol()};
      std::set<int64_t> near;
      close(others, near);
      const Found least = search(others, near, [](const DimBinding&) { return true; });
      if (!least.any) return Found{{}, false, false};
      for (const SymbolId s : others) found.sizes.set(s, *least.sizes.get(s));
      symbols.insert(others.begin(), others.end());
    }
    return found;
  }

  DimValues named(const DimBinding& sizes) const {
    DimValues values;
    for (const NamedSize& size : sizes_)
      if (const auto value = sizes.get(size.dim.symbol())) values[size.name] = *value;
    return values;
  }

 private:
  // With all that facts connect them with.
  void close(std::set<SymbolId>& symbols, std::set<int64_t>& numbers) const {
    for (bool grown = true; grown;) {
      grown = false;
      for (const Fact& fact : facts_) {
        std::vector<SymbolId> of = symbolsOf(fact.a);
        if (fact.b)
          for (const SymbolId s : symbolsOf(fact.b)) of.push_back(s);
        if (std::none_of(of.begin(), of.end(), [&](SymbolId s) { return symbols.count(s) != 0; })) continue;
        for (const SymbolId s : of) grown = symbols.insert(s).second || grown;
      }
    }
    for (const Fact& fact : facts_) {
      addNumbers(fact.a, numbers);
      if (fact.b) addNumbers(fact.b, numbers);
      if (fact.kind == FactKind::multipleOf) numbers.insert(fact.multiple);
    }
  }

  // In ascending order; `all`: none that is allowed is left out.
  std::vector<int64_t> candidatesOf(SymbolId symbol, const std::set<int64_t>& numbers, int64_t first,
                                    bool& all) const {
    const Dim dim = stated_->context().symbolById(symbol);
    const Interval range = stated_->interval(dim);
    const int64_t low = std::max<int64_t>(0, range.low.value_or(0));
    const int64_t high = range.high.value_or(INT64_MAX);
    std::set<int64_t> values;
    for (int64_t i = 0; i < first && low + i <= high; ++i) values.insert(low + i);
    all = all && high - low < first;
    for (const int64_t number : numbers)
      if (number >= low && number <= high) values.insert(number);
    if (range.high) values.insert(high);
    if (range.high && high > low) values.insert(high - 1);
    return {values.begin(), values.end()};
  }

  template <typename Accepts>
  Found search(const std::set<SymbolId>& symbols, const std::set<int64_t>& numbers, Accepts&& accepts) const {
    Found found;
    const std::vector<SymbolId> order(symbols.begin(), symbols.end());
    std::vector<std::vector<int64_t>> candidates;
    const auto countOf = [&] {
      size_t count = 1;
      for (const auto& values : candidates)
        count = std::min(kMostTries + 1, count * std::max<size_t>(1, values.size()));
      return count;
    };
    for (int64_t first = order.size() <= 1 ? kFirstSizes : 1024;; first = std::max<int64_t>(2, first / 2)) {
      candidates.clear();
      found.all = true;
      for (const SymbolId symbol : order)
        candidates.push_back(candidatesOf(symbol, numbers, first, found.all));
      if (countOf() <= kMostTries || first == 2) break;
    }
    if (countOf() > kMostTries) found.all = false;
    std::vector<Fact> facts;
    for (const Fact& fact : facts_) {
      const std::vector<SymbolId> of = symbolsOf(fact.a);
      if (std::all_of(of.begin(), of.end(), [&](SymbolId s) { return symbols.count(s) != 0; }))
        facts.push_back(fact);
    }
    int64_t least = INT64_MAX;
    const size_t tries = std::min(kMostTries, countOf());
    for (size_t attempt = 0; attempt < tries; ++attempt) {
      DimBinding sizes;
      int64_t sum = 0;
      size_t rest = attempt;
      for (size_t i = 0; i < order.size(); ++i) {
        const int64_t value = candidates[i][rest % candidates[i].size()];
        rest /= candidates[i].size();
        sizes.set(order[i], value);
        sum += std::min(value, kMostBound);
      }
      if (sum >= least) continue;
      if (std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) { return !isTrue(fact, sizes); }))
        continue;
      if (!accepts(sizes)) continue;
      least = sum;
      found.sizes = std::move(sizes);
      found.any = true;
    }
    return found;
  }

  std::vector<NamedSize> sizes_;
  std::set<SymbolId> inputs_;
  std::unique_ptr<DimSolver> stated_;
  std::vector<Fact> facts_;
};

std::string sizesAsText(const DimValues& sizes) { return sizes.empty() ? "any" : dimValuesText(sizes); }

SizeFinding findingOf(const RunCheck& check) {
  SizeFinding finding;
  finding.diagnostic.id = DiagnosticId::shapeCheckFailed;
  finding.diagnostic.place = check.op->place;
  const Op* op = check.demands ? check.demands : check.op;
  finding.diagnostic.op = op->def->name;
  finding.demand = check.text();
  return finding;
}

void setUnproved(SizeFinding& finding, const std::string& why) {
  finding.diagnostic.severity = Severity::warning;
  finding.diagnostic.message = "cannot be proved: " + finding.demand;
  finding.diagnostic.notes.push_back(why);
}

// The number, not 1, that an open size has to be: as exporters leave it that make numbers of an example's
// sizes.
std::optional<int64_t> numberDemanded(const RunCheck& check) {
  if (check.relation == "le" || check.lhs.isConstant() == check.rhs.isConstant()) return std::nullopt;
  const int64_t number = *(check.lhs.isConstant() ? check.lhs : check.rhs).constant();
  return number > 1 ? std::optional<int64_t>(number) : std::nullopt;
}

// One check: nothing where it is proved.
Result<std::optional<SizeFinding>> lookAt(SizeSearch& search, const RunCheck& check,
                                          const std::vector<RunCheck>& before, bool inShapes,
                                          const FailsAt& failsAt) {
  SizeFinding finding = findingOf(check);
  if (!search.isOfInputs(check.lhs) || !search.isOfInputs(check.rhs)) {
    setUnproved(finding, "a size that the values of a run decide");
    return std::optional<SizeFinding>(std::move(finding));
  }
  const SizeSearch::Found found = search.smallest(&check, before);
  if (!found.any) {
    if (found.all) return std::optional<SizeFinding>();
    setUnproved(finding, "no sizes are found for which it fails");
    return std::optional<SizeFinding>(std::move(finding));
  }
  finding.sizes = search.named(found.sizes);
  if (inShapes) {
    DYN_TRY(const std::optional<Diagnostic> seen, failsAt(finding.sizes));
    if (!seen) {
      setUnproved(finding, "its sides differ at " + sizesAsText(finding.sizes) + ", where the shapes fit");
      finding.sizes.clear();
      return std::optional<SizeFinding>(std::move(finding));
    }
  }
  if (check.mayNotRun) {
    setUnproved(finding, "it fails at " + sizesAsText(finding.sizes) + " if this branch or loop body runs");
    return std::optional<SizeFinding>(std::move(finding));
  }
  finding.diagnostic.message = "fails at " + sizesAsText(finding.sizes) + ": " + finding.demand;
  if (const std::optional<int64_t> number = numberDemanded(check))
    finding.diagnostic.notes.push_back("this " + std::to_string(*number) +
                                       " may be of the example that the model was exported with");
  return std::optional<SizeFinding>(std::move(finding));
}

}  // namespace

std::vector<NamedSize> sizesOfInputs(const Module& module) {
  std::vector<NamedSize> sizes;
  const Function* main = module.main();
  std::set<SymbolId> seen;
  DimContext& dims = module.context->dims();
  for (size_t i = 0; main && i < main->parameters.size(); ++i) {
    const Parameter& parameter = main->parameters[i];
    if (!parameter.type || !parameter.type.isTensor()) continue;
    for (size_t axis = 0; axis < parameter.type.dims().size(); ++axis) {
      const Dim dim = parameter.type.dims()[axis];
      if (!dim.isSymbol() || !seen.insert(dim.symbol()).second) continue;
      const bool nameless = dims.isAnonymous(dim.symbol());
      sizes.push_back({nameless ? module.context->valueName(parameter.id) + "." + std::to_string(axis)
                                : dims.symbolName(dim.symbol()),
                       dim});
    }
  }
  return sizes;
}

std::optional<DimValues> leastSizes(const Module& typed) {
  SizeSearch search(typed);
  const SizeSearch::Found found = search.smallest(nullptr, {});
  if (!found.any) return std::nullopt;
  return search.named(found.sizes);
}

Result<SizeCheck> checkSizes(const Module& typed, const FailsAt& failsAt) {
  SizeCheck result;
  SizeSearch search(typed);
  std::vector<RunCheck> before;
  const auto look = [&](const RunCheck& check, bool inShapes) -> Status {
    ++result.checksCount;
    if (result.findings.size() >= kMostVerified) {
      ++result.furtherCount;
      return {};
    }
    DYN_TRY(std::optional<SizeFinding> finding, lookAt(search, check, before, inShapes, failsAt));
    if (finding) {
      result.findings.push_back(*std::move(finding));
    } else {
      ++result.provedCount;
    }
    if (!check.mayNotRun) before.push_back(check);
    return {};
  };
  for (const RunCheck& check : allChecksOf(typed)) DYN_CHECK(look(check, !check.name.empty()));
  return result;
}

}  // namespace dyn
