#include "app/engine/latency/latency_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/dims/size_multiples.h"

namespace dyn {

namespace {

constexpr size_t kMostCandidates = 4096;

// From low to high, each about 1.26 times the one before; fewer where there are many dims.
std::vector<int64_t> levelsOf(const SizeRange& range, size_t most) {
  std::vector<int64_t> levels;
  const double ratio = static_cast<double>(range.high) / static_cast<double>(std::max<int64_t>(range.low, 1));
  const size_t steps =
      std::clamp<size_t>(static_cast<size_t>(std::ceil(2 * std::log2(std::max(ratio, 1.0)))), 1, most - 1);
  for (size_t k = 0; k <= steps; ++k) {
    const double value = static_cast<double>(std::max<int64_t>(range.low, 1)) *
                         std::pow(ratio, static_cast<double>(k) / static_cast<double>(steps));
    const int64_t rounded =
        static_cast<int64_t>(std::llround(value / static_cast<double>(range.multiple))) * range.multiple;
    const int64_t level = k == 0       ? range.low
                          : k == steps ? range.high
                                       : std::clamp(rounded, range.low, range.high);
    if (levels.empty() || level > levels.back()) levels.push_back(level);
  }
  return levels;
}

}  // namespace

LatencySizes::LatencySizes(const std::vector<SizeRange>& ranges) : ranges_(ranges) {
  size_t open = 0;
  for (const SizeRange& range : ranges_) open += range.low < range.high;
  const size_t most = std::max<size_t>(
      3,
      static_cast<size_t>(std::pow(kMostCandidates, 1.0 / static_cast<double>(std::max<size_t>(open, 1)))));
  candidates_.emplace_back();
  for (const SizeRange& range : ranges_) {
    const std::vector<int64_t> levels = levelsOf(range, std::min<size_t>(most, 40));
    std::vector<DimValues> next;
    for (const DimValues& one : candidates_)
      for (const int64_t level : levels) {
        if (next.size() >= kMostCandidates) break;
        next.push_back(one);
        next.back()[range.dim] = level;
      }
    candidates_ = std::move(next);
  }
  // All least, each largest alone, all largest.
  std::vector<DimValues> ends(1);
  for (const SizeRange& range : ranges_) ends[0][range.dim] = range.low;
  for (const SizeRange& range : ranges_)
    if (range.low < range.high) {
      ends.push_back(ends[0]);
      ends.back()[range.dim] = range.high;
    }
  DimValues largest;
  for (const SizeRange& range : ranges_) largest[range.dim] = range.high;
  if (std::find(ends.begin(), ends.end(), largest) == ends.end()) ends.push_back(largest);
  std::erase_if(candidates_,
                [&](const DimValues& one) { return std::find(ends.begin(), ends.end(), one) != ends.end(); });
  candidates_.insert(candidates_.begin(), ends.begin(), ends.end());
  ends_ = ends.size();
}

double LatencySizes::distance(const DimValues& a, const DimValues& b) const {
  double sum = 0;
  for (const SizeRange& range : ranges_) {
    if (range.low >= range.high) continue;
    const auto place = [&](const DimValues& at) {
      return std::log(static_cast<double>(std::max<int64_t>(at.at(range.dim), 1)));
    };
    const double difference = place(a) - place(b);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

std::optional<DimValues> LatencySizes::next(const LatencyModel* model) {
  if (candidates_.empty()) return std::nullopt;
  auto best = candidates_.begin();
  if (ends_ > 0) {
    --ends_;
  } else {
    constexpr double kLeastError = 0.05;
    double most = -1;
    for (auto one = candidates_.begin(); one != candidates_.end(); ++one) {
      double nearest = std::numeric_limits<double>::infinity(), weight = kLeastError;
      for (const DimValues& done : asked_) nearest = std::min(nearest, distance(*one, done));
      double toSample = std::numeric_limits<double>::infinity();
      for (size_t i = 0; model && i < model->samples.size(); ++i) {
        const double away = distance(*one, model->samples[i].dims);
        if (away >= toSample) continue;
        toSample = away;
        weight = kLeastError + std::abs(std::log(static_cast<double>(model->samples[i].time.medianNs) /
                                                 std::max(model->leftOut[i], 1.0)));
      }
      if (nearest * weight > most) {
        most = nearest * weight;
        best = one;
      }
    }
  }
  DimValues found = *best;
  candidates_.erase(best);
  asked_.push_back(found);
  return found;
}

// Nothing where a range has no such multiple.
std::optional<DimValues> LatencySizes::rounded(DimValues dims,
                                               const std::map<std::string, int64_t>& multiples) const {
  for (const SizeRange& range : ranges_) {
    const auto found = multiples.find(range.dim);
    if (found == multiples.end()) continue;
    const int64_t multiple = commonMultiple(range.multiple, found->second);
    int64_t& size = dims[range.dim];
    size = size / multiple * multiple;
    if (size < range.low) size = leastMultipleFrom(range.low, multiple);
    if (size < range.low || size > range.high) return std::nullopt;
  }
  return dims;
}

std::vector<LatencySizes::Coarser> LatencySizes::coarser(const DimValues& refused) const {
  constexpr int64_t kCoarsest = 32;
  std::vector<Coarser> trials;
  const auto add = [&](std::map<std::string, int64_t> multiples) {
    const std::optional<DimValues> dims = rounded(refused, multiples);
    if (dims && *dims != refused && std::find(asked_.begin(), asked_.end(), *dims) == asked_.end())
      trials.push_back({std::move(multiples), *dims});
  };
  for (const SizeRange& range : ranges_)
    for (int64_t multiple = 2; multiple <= kCoarsest; multiple *= 2) add({{range.dim, multiple}});
  for (int64_t multiple = 2; multiple <= kCoarsest; multiple *= 2) {
    std::map<std::string, int64_t> all;
    for (const SizeRange& range : ranges_)
      if (range.high >= multiple && range.low < range.high) all[range.dim] = multiple;
    add(std::move(all));
  }
  return trials;
}

void LatencySizes::take(const Coarser& measured) {
  asked_.push_back(measured.dims);
  std::vector<DimValues> kept;
  size_t ends = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    std::optional<DimValues> dims = rounded(candidates_[i], measured.multiples);
    if (!dims || std::find(asked_.begin(), asked_.end(), *dims) != asked_.end() ||
        std::find(kept.begin(), kept.end(), *dims) != kept.end())
      continue;
    kept.push_back(std::move(*dims));
    ends += i < ends_;
  }
  candidates_ = std::move(kept);
  ends_ = ends;
}

}  // namespace dyn
