#include "compiler/tune/likely_sizes.h"

#include <algorithm>
#include <cmath>

namespace dyn {

namespace {

constexpr size_t kMostValues = 6, kMostSparseValues = 16;  // of one dim that are measured

// Values of a dim with their weights. By frequency where there is a list; over the logarithm of a range
// evenly: at most kMostValues, or, where few of them are measured, all powers of two.
Result<std::vector<std::pair<int64_t, double>>> drawsOf(const LikelyDim& dim, Extent extent) {
  std::vector<std::pair<int64_t, double>> draws;
  if (dim.value) return std::vector<std::pair<int64_t, double>>{{*dim.value, 1.0}};
  if (!dim.lengths.empty()) {
    // Equal shares of the sorted lengths, each stood for by its middle.
    std::vector<int64_t> sorted = dim.lengths;
    std::sort(sorted.begin(), sorted.end());
    const size_t most = extent == Extent::sparse ? std::min(kMostSparseValues, sorted.size()) : kMostValues;
    for (size_t i = 0; i < most; ++i) {
      const int64_t value = sorted[(2 * i + 1) * sorted.size() / (2 * most)];
      const double share = 1.0 / static_cast<double>(most);
      if (!draws.empty() && draws.back().first == value)
        draws.back().second += share;
      else
        draws.emplace_back(value, share);
    }
    return draws;
  }
  if (!dim.low || !dim.high || *dim.low < 1 || *dim.high < *dim.low)
    return makeError(
        DiagnosticId::usageError,
        "--dim " + dim.text + ": tune wants a value, a range from 1 on with both ends, or @lengths.txt");
  if (extent == Extent::sparse) {
    for (int power = 0; power < 63 && int64_t{1} << power <= *dim.high; ++power) {
      const int64_t value = int64_t{1} << power;
      if (value >= *dim.low && value % dim.multiple == 0) draws.emplace_back(value, 1.0);
    }
    if (!draws.empty()) {
      for (auto& draw : draws) draw.second /= static_cast<double>(draws.size());
      return draws;
    }
  }
  for (size_t i = 0; i < 4; ++i) {
    const double at = std::log(static_cast<double>(*dim.low)) +
                      (std::log(static_cast<double>(*dim.high)) - std::log(static_cast<double>(*dim.low))) *
                          static_cast<double>(i) / 3;
    const double size = std::exp(at);
    int64_t value = size < 0x1p62 ? std::clamp<int64_t>(std::llround(size), *dim.low, *dim.high) : *dim.high;
    const int64_t whole = value / dim.multiple * dim.multiple, most = *dim.high / dim.multiple * dim.multiple;
    value = whole < value && whole < most ? whole + dim.multiple : whole;
    if (value < *dim.low || (!draws.empty() && draws.back().first == value)) continue;
    draws.emplace_back(value, 1.0);
  }
  for (auto& draw : draws) draw.second /= static_cast<double>(draws.size());
  return draws;
}

}  // namespace

Result<std::vector<Draw>> drawsOf(const std::vector<LikelyDim>& dims, Extent extent) {
  std::vector<Draw> all(1);
  for (const LikelyDim& dim : dims) {
    DYN_TRY(auto values, drawsOf(dim, extent));
    std::vector<Draw> next;
    for (const Draw& draw : all)
      for (const auto& [value, weight] : values) {
        next.push_back(draw);
        next.back().dims[dim.name] = value;
        next.back().weight *= weight;
      }
    all = std::move(next);
    if (all.size() > 4096) return makeError(DiagnosticId::usageError, "too many dims to draw shapes from");
  }
  return all;
}

}  // namespace dyn
