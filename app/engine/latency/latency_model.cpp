#include "app/engine/latency/latency_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/engine/model/formula.h"

namespace dyn {

namespace {

double partOf(const LatencyTerm& term, double value) {
  return std::max(0.0, std::min(value, term.to.value_or(value)) - term.from);
}

// "12.3 us"
std::string coefficientText(double ns) {
  const double size = std::abs(ns);
  constexpr double kRoundsUp = 0.9995;  // "1e+03 us" is 1 ms
  if (size >= kRoundsUp * 1e9) return fmt::format("{:.3g} s", ns / 1e9);
  if (size >= kRoundsUp * 1e6) return fmt::format("{:.3g} ms", ns / 1e6);
  if (size >= kRoundsUp * 1e3) return fmt::format("{:.3g} us", ns / 1e3);
  return size >= kRoundsUp ? fmt::format("{:.3g} ns", ns) : fmt::format("{:.3g} ps", ns * 1e3);
}

// "batch*seq", "(n + m)"
std::string readable(const std::string& quantity, bool alone) {
  return !alone || quantity.find(' ') == std::string::npos ? quantity : "(" + quantity + ")";
}

}  // namespace

std::optional<Latency> LatencyModel::at(const DimValues& dims) const {
  Latency latency;
  latency.ns = baseNs;
  for (const LatencyTerm& term : terms) {
    const std::optional<int64_t> value = formulaValue(term.quantity, dims);
    if (!value) return std::nullopt;
    latency.ns += term.ns * partOf(term, static_cast<double>(*value));
  }
  latency.lowNs = latency.ns / spread;
  latency.highNs = latency.ns * spread;
  for (const auto& [name, value] : dims) {
    std::optional<int64_t> least, most;
    for (const LatencySample& sample : samples)
      if (const auto found = sample.dims.find(name); found != sample.dims.end()) {
        least = std::min(least.value_or(found->second), found->second);
        most = std::max(most.value_or(found->second), found->second);
      }
    if (!least || !latency.outside.empty()) continue;
    if (value > *most)
      latency.outside = fmt::format("{} = {} is above {}, the largest measured", name, value, *most);
    else if (value < *least)
      latency.outside = fmt::format("{} = {} is below {}, the least measured", name, value, *least);
  }
  return latency;
}

// By slopes: what a part of a quantity takes more, or less, than the part before it.
std::string LatencyModel::formula() const {
  std::string text = coefficientText(baseNs);
  std::map<std::string, double> before;
  for (const LatencyTerm& term : terms) {
    const double slope = term.ns - before[term.quantity];
    before[term.quantity] = term.ns;
    if (slope == 0) continue;
    const std::string quantity = term.quantity == flops ? "flops" : readable(term.quantity, term.from == 0);
    text += slope < 0 ? " - " : " + ";
    text += coefficientText(std::abs(slope)) + "*";
    text += term.from > 0 ? fmt::format("max(0, {} - {:.0f})", quantity, term.from) : quantity;
  }
  return text;
}

size_t LatencyModel::insideCount() const {
  size_t count = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double ratio = static_cast<double>(samples[i].time.medianNs) / leftOut[i];
    count += ratio <= spread && ratio >= 1 / spread;
  }
  return count;
}

}  // namespace dyn
