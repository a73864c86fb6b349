#include "compiler/passes/analysis/live_bytes.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

constexpr int64_t kUsualDim = 100;       // where two orders are compared in numbers
constexpr size_t kMostSumsCompared = 8;  // largest sums that a new sum is compared with

void addOnce(std::vector<ValueId>& list, ValueId item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace

void LiveBytes::describe(const Function& function) {
  touched_.clear();
  sizes_.clear();
  kept_.clear();
  live_ = computeLiveness(function);
  for (const Op* op : function.ops) {
    Touched& touched = touched_[op];
    for (ValueId v : op->operands)
      if (v != kNoValue && sizes_.count(live_.rootOf(v))) addOnce(touched.reads, live_.rootOf(v));
    // Sizes as a tensor are a few bytes, and mostly nobody reads them.
    if (op->def->traits.view || op->def->traits.contentsKnown) continue;
    for (const ValueDef& r : op->results) {
      if (!r.type || !r.type.isTensor() || r.type.dtype() == Dtype::string) continue;
      sizes_[r.id] = elementCount(module_.context->dims(), r.type.dims()) * storageBytes(r.type.dtype());
      touched.makes.push_back(r.id);
      if (live_.lastUse.at(r.id) >= function.ops.size()) kept_.insert(r.id);
    }
  }
}

std::vector<Dim> LiveBytes::sums(const std::vector<const Op*>& ops) const {
  std::unordered_map<ValueId, size_t> lastRead;
  for (size_t at = 0; at < ops.size(); ++at) {
    for (ValueId v : of(ops[at]).reads) lastRead[v] = at;
    for (ValueId v : of(ops[at]).makes) lastRead.try_emplace(v, at);
  }
  std::vector<Dim> sums;
  Dim live = module_.context->dims().constant(0);
  for (size_t at = 0; at < ops.size(); ++at) {
    const Touched& touched = of(ops[at]);
    for (ValueId v : touched.makes) live = live + sizes_.at(v);
    sums.push_back(live);
    auto end = [&](ValueId v) {
      if (lastRead[v] == at && !kept_.count(v)) live = live - sizes_.at(v);
    };
    for (ValueId v : touched.reads) end(v);
    for (ValueId v : touched.makes)
      if (std::find(touched.reads.begin(), touched.reads.end(), v) == touched.reads.end()) end(v);
  }
  return sums;
}

int64_t LiveBytes::sampleOf(Dim bytes) {
  auto [known, fresh] = samples_.try_emplace(bytes.id(), 0);
  if (!fresh) return known->second;
  return known->second = symbolSamples_.value(module_.context->facts().canonical(bytes)).value_or(0);
}

int64_t LiveBytes::sampleOfSymbol(SymbolId s) const {
  DimContext& dims = module_.context->dims();
  if (const auto given = sample_.find(dims.symbolName(s)); given != sample_.end()) return given->second;
  const Interval range = module_.context->facts().interval(dims.symbolById(s));
  return std::clamp(kUsualDim, range.low.value_or(0), range.high.value_or(INT64_MAX));
}

int64_t LiveBytes::peakOf(const std::vector<Dim>& sums) {
  int64_t peak = 0;
  for (Dim sum : sums) peak = std::max(peak, sampleOf(sum));
  return peak;
}

bool LiveBytes::atMost(Dim a, Dim b) {
  auto [known, fresh] = atMost_.try_emplace({a.id(), b.id()}, a == b);
  if (fresh && !known->second) known->second = module_.context->facts().lessEqual(a, b) == Answer::yes;
  return known->second;
}

bool LiveBytes::neverWorse(const std::vector<Dim>& sums, const std::vector<Dim>& others) {
  std::vector<Dim> largest;
  std::set<uint32_t> reached;
  for (Dim sum : others)
    if (reached.insert(sum.id()).second) largest.push_back(sum);
  std::stable_sort(largest.begin(), largest.end(), [&](Dim a, Dim b) { return sampleOf(a) > sampleOf(b); });
  if (largest.size() > kMostSumsCompared) largest.resize(kMostSumsCompared);
  return std::all_of(sums.begin(), sums.end(), [&](Dim sum) {
    return reached.count(sum.id()) > 0 ||
           std::any_of(largest.begin(), largest.end(), [&](Dim other) { return atMost(sum, other); });
  });
}

Result<std::map<std::string, int64_t>> parseSampleDims(std::string_view text) {
  std::map<std::string, int64_t> sample;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    const size_t colon = item.rfind(':');
    int64_t value = 0;
    const std::string_view digits = colon == std::string_view::npos ? "" : item.substr(colon + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() ||
        value < 0)
      return makeError(DiagnosticId::badAttribute, "'" + std::string(item) + "' is not NAME:N");
    sample[std::string(item.substr(0, colon))] = value;
  }
  return sample;
}

}  // namespace dyn
