#include "app/session/answers/limit_view.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "app/engine/model/loaded_model.h"
#include "app/engine/model/model_info.h"
#include "app/session/command.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/view_text.h"
#include "compiler/dims/size_multiples.h"

namespace dyn {

const DimSolver* factsOfDims(LoadedModel& model) {
  if (model.hasModule()) return &model.ir().facts();
  return model.signature().facts ? &model.signature().facts->facts : nullptr;
}

namespace {

bool mentions(Dim formula, SymbolId dim) {
  const std::vector<SymbolId> symbols = symbolsOf(formula);
  return std::find(symbols.begin(), symbols.end(), dim) != symbols.end();
}

// Has the formula another value for each value of the dim? Seen at some: a `min` or a quotient has the same
// at two of them.
bool tells(Dim formula, SymbolId dim) {
  std::optional<int64_t> before;
  for (const int64_t value : {0, 1, 2, 3, 1000, 1001, 1002, 1000000}) {
    DimBinding binding;
    for (SymbolId symbol : symbolsOf(formula)) binding.set(symbol, 1);
    binding.set(dim, value);
    const Result<int64_t> size = evaluate(formula, binding);
    if (!size.ok() || (before && *size <= *before)) return false;
    before = *size;
  }
  return true;
}

// Does the dim follow from these?
bool follows(const DimSolver& facts, Dim dim, const std::set<SymbolId>& from) {
  const auto areKnown = [&](Dim formula, SymbolId but) {
    const std::vector<SymbolId> symbols = symbolsOf(formula);
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](SymbolId symbol) { return symbol == but || from.count(symbol) != 0; });
  };
  const Dim formula = facts.canonical(dim);
  if (formula != dim && areKnown(formula, dim.symbol()) && !mentions(formula, dim.symbol())) return true;
  return std::any_of(from.begin(), from.end(), [&](SymbolId known) {
    const Dim other = facts.canonical(facts.context().symbolById(known));
    return mentions(other, dim.symbol()) && areKnown(other, dim.symbol()) && tells(other, dim.symbol());
  });
}

}  // namespace

std::vector<std::string> freeDims(LoadedModel& model, const std::vector<std::string>& first) {
  std::vector<std::string> order = first, free;
  for (const std::string& name : model.info().symbols)
    if (std::find(first.begin(), first.end(), name) == first.end()) order.push_back(name);
  const DimSolver* facts = factsOfDims(model);
  std::set<std::string> chosen;
  std::set<SymbolId> from;
  for (const std::string& name : order) {
    if (facts && facts->context().hasSymbol(name)) {
      const Dim dim = facts->context().symbol(name);
      if (follows(*facts, dim, from)) continue;
      from.insert(dim.symbol());
    }
    chosen.insert(name);
  }
  for (const std::string& name : model.info().symbols)
    if (chosen.count(name) != 0) free.push_back(name);
  return free;
}

std::vector<LimitSymbol> freeSymbols(LoadedModel& model, const DimValues& given) {
  std::vector<std::string> first;
  for (const auto& [name, value] : given) first.push_back(name);
  const std::vector<std::string> free = freeDims(model, first);
  std::vector<LimitSymbol> symbols = limitSymbols(model);
  std::erase_if(symbols, [&](const LimitSymbol& symbol) {
    return std::find(free.begin(), free.end(), symbol.name) == free.end();
  });
  return symbols;
}

std::vector<LimitSymbol> limitSymbols(LoadedModel& model) {
  std::vector<LimitSymbol> symbols;
  const DimSolver* known = factsOfDims(model);
  for (const std::string& name : model.info().symbols) {
    LimitSymbol symbol;
    symbol.name = name;
    if (known && known->context().hasSymbol(name)) {
      const DimSolver& facts = *known;
      const Dim dim = facts.context().symbol(name);
      const Interval range = facts.interval(dim);
      symbol.low = range.low;
      symbol.high = range.high;
      for (const Fact& fact : facts.factsAbout(dim.symbol())) {
        if (fact.a != dim) continue;
        if (fact.kind == FactKind::multipleOf)
          symbol.multiple = commonMultiple(symbol.multiple, fact.multiple);
        if (fact.kind == FactKind::likely && symbol.likely.empty()) symbol.likely = fact.likely;
      }
    }
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

int64_t usualValue(const LimitSymbol& symbol) {
  if (!symbol.likely.empty()) return symbol.likely.front();
  const int64_t multiple = std::max<int64_t>(symbol.multiple, 1);
  const int64_t least = std::max<int64_t>(symbol.low.value_or(1), 1);
  return leastMultipleFrom(least, multiple);
}

namespace {

std::string costText(int64_t cost, LimitUnit unit) {
  return unit == LimitUnit::bytes ? std::to_string(cost) + " bytes" : durationText(cost);
}

constexpr int64_t kLargestSearched = int64_t{1} << 40;
constexpr std::chrono::seconds kSearchTime(10);  // a dry run of a loop takes as many steps as the loop

// Sizes are counted in multiples: the k-th allowed size is k * multiple. A model may take fewer sizes than it
// says (an image's sides by 32s): where one cannot be run, only multiples of 2, 4, ... are looked at.
class Search {
 public:
  Search(const LimitSymbol& symbol, DimValues dims, Limit limit, const CostOfDims& costOf)
      : symbol_(symbol), dims_(std::move(dims)), limit_(limit), costOf_(costOf) {
    multiple_ = std::max<int64_t>(symbol.multiple, 1);
  }

  Result<LimitRow> run() {
    constexpr int64_t kCoarsest = 64;
    LimitRow best;
    const int64_t declared = multiple_;
    for (int64_t scale = 1; scale <= kCoarsest; scale *= 2) {
      count(declared * scale);
      DYN_TRY(LimitRow row, search());
      const int64_t known = best.largest.value_or(-1), found = row.largest.value_or(-1);
      if (scale == 1 || found > known || (found == known && !refused_)) best = std::move(row);
      if (best.largest && !refused_) break;  // memory ends it, nothing else
    }
    if (!best.largest && leastRun_)
      best.end = "even " + symbol_.name + " = " + std::to_string(*leastRun_) + " takes " + text(leastCost_);
    return best;
  }

 private:
  void count(int64_t multiple) {
    multiple_ = multiple;
    least_ = *checkedCeilDiv(std::max<int64_t>(symbol_.low.value_or(0), 0), multiple_);
    most_ = std::min(symbol_.high.value_or(kLargestSearched), kLargestSearched) / multiple_;
  }

  Result<LimitRow> search() {
    LimitRow row;
    row.symbol = symbol_.name;
    row.others = dims_;
    row.others.erase(symbol_.name);
    DYN_TRY(std::optional<int64_t> start, firstThatFits());
    if (!start) {
      row.end = why_;
      return row;
    }
    int64_t low = *start, high = low;  // low fits
    const auto end = std::chrono::steady_clock::now() + kSearchTime;
    bool open = false;  // nothing was found that does not fit
    while (true) {
      if (low >= most_ || std::chrono::steady_clock::now() > end) {
        open = true;
        break;
      }
      high = std::min(most_, std::max<int64_t>(2 * low, low + 1));
      DYN_TRY(bool within, fits(high));
      if (!within) break;
      low = high;
    }
    while (!open && high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      DYN_TRY(bool within, fits(middle));
      (within ? low : high) = middle;
    }
    row.largest = low * multiple_;
    if (!open) {
      DYN_CHECK(fits(high));  // why the next one does not
      row.end = why_;
    } else if (low >= most_ && symbol_.high) {
      row.end = symbol_.highReason.empty() ? symbol_.name + " is at most " + std::to_string(*symbol_.high)
                                           : symbol_.highReason;
    } else {
      row.end = "no limit was found up to here";
    }
    const bool refused = refused_;
    DYN_TRY(bool within, fits(low));
    if (within) (limit_.unit == LimitUnit::bytes ? row.peakBytes : row.timeNs) = cost_;
    refused_ = refused;
    return row;
  }

  Result<bool> fits(int64_t index) {
    dims_[symbol_.name] = index * multiple_;
    Result<int64_t> cost = costOf_(dims_);
    refused_ = !cost.ok();
    if (cost.ok()) {
      cost_ = *cost;
      if (!leastRun_ || index * multiple_ < *leastRun_) {
        leastRun_ = index * multiple_;
        leastCost_ = cost_;
      }
      if (cost_ > limit_.most)
        why_ = symbol_.name + " = " + std::to_string(index * multiple_) + " would take " + text(cost_);
      return cost_ <= limit_.most;
    }
    if (cost.error().id == DiagnosticId::unsupportedFeature || cost.error().id == DiagnosticId::cancelled)
      return cost.takeError();
    why_ =
        symbol_.name + " = " + std::to_string(index * multiple_) + " cannot be run: " + cost.error().message;
    return false;
  }
  std::string text(int64_t cost) const { return costText(cost, limit_.unit); }

  // The least sizes may be ones that the model does not take.
  Result<std::optional<int64_t>> firstThatFits() {
    for (int64_t index = least_; index <= std::min(most_, least_ + 1024);
         index = std::max(index + 1, 2 * index)) {
      DYN_TRY(bool within, fits(index));
      if (within) return std::optional<int64_t>(index);
    }
    return std::optional<int64_t>();
  }

  const LimitSymbol& symbol_;
  DimValues dims_;
  const Limit limit_;
  const CostOfDims& costOf_;
  int64_t multiple_ = 1, least_ = 0, most_ = 0, cost_ = 0;
  std::optional<int64_t> leastRun_;  // the least size of those looked at that can be run
  int64_t leastCost_ = 0;
  bool refused_ = false;  // the size looked at last cannot be run
  std::string why_;
};

// A size for each dim that is not given: the usual one, or, where the model does not take these, the first
// doubling of all that it takes.
Result<DimValues> usualValues(const std::vector<LimitSymbol>& symbols, const DimValues& given,
                              const CostOfDims& costOf) {
  constexpr int64_t kMostScale = 1024;
  DimValues usual = given;
  for (const LimitSymbol& symbol : symbols)
    if (!given.count(symbol.name)) usual[symbol.name] = usualValue(symbol);
  for (int64_t scale = 1; scale <= kMostScale; scale *= 2) {
    DimValues values = usual;
    for (const LimitSymbol& symbol : symbols) {
      if (given.count(symbol.name)) continue;
      const int64_t multiple = std::max<int64_t>(symbol.multiple, 1), wanted = usual[symbol.name] * scale;
      values[symbol.name] = symbol.high ? std::min(wanted, *symbol.high / multiple * multiple) : wanted;
    }
    const Result<int64_t> bytes = costOf(values);
    if (bytes.ok()) return values;
    if (bytes.error().id == DiagnosticId::unsupportedFeature || bytes.error().id == DiagnosticId::cancelled)
      return Result<DimValues>(Error{bytes.error()});
  }
  return usual;
}

}  // namespace

Result<Limit> parseLimit(const std::string& text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [suffix, ns] : kUnits) {
    if (!text.ends_with(suffix)) continue;
    const std::string_view digits = std::string_view(text).substr(0, text.size() - suffix.size());
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr double kLongestNs = 1e15;
    if (error != std::errc() || end != digits.data() + digits.size() || !(value > 0) ||
        value * ns > kLongestNs)
      continue;
    return Limit{LimitUnit::nanoseconds, std::max<int64_t>(1, static_cast<int64_t>(value * ns))};
  }
  Result<int64_t> bytes = parseBytes(text);
  if (!bytes.ok())
    return std::move(bytes.takeError()).note("a limit of time is written 20ms, of memory 512MB");
  return Limit{LimitUnit::bytes, *bytes};
}

Result<LimitView> limitView(const std::vector<LimitSymbol>& symbols, const DimValues& given, Limit limit,
                            const CostOfDims& costOf) {
  LimitView view;
  (limit.unit == LimitUnit::bytes ? view.limitBytes : view.limitNs) = limit.most;
  view.dims = given;
  DYN_TRY(DimValues usual, usualValues(symbols, given, costOf));
  for (const LimitSymbol& symbol : symbols) {
    if (given.count(symbol.name)) continue;
    DimValues others = usual;
    others.erase(symbol.name);
    DYN_TRY(LimitRow row, Search(symbol, std::move(others), limit, costOf).run());
    view.rows.push_back(std::move(row));
  }
  if (view.rows.empty())
    return makeError(DiagnosticId::usageError,
                     symbols.empty() ? "all shapes of this model are fixed" : "all dims have a value");
  if (std::none_of(view.rows.begin(), view.rows.end(), [](const LimitRow& row) { return row.largest; }))
    return makeError(DiagnosticId::memoryLimit, "no size stays within " + costText(limit.most, limit.unit) +
                                                    ": " + view.rows.front().end);
  return view;
}

}  // namespace dyn
