#include "app/engine/latency/latency_formula.h"

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

std::optional<Latency> LatencyFormula::at(const DimValues& dims) const {
  Latency latency;
  latency.ns = baseNs;
  for (const LatencyTerm& term : terms) {
    const std::optional<int64_t> value = formulaValue(term.quantity, dims);
    if (!value) return std::nullopt;
    latency.ns += term.ns * partOf(term, static_cast<double>(*value));
  }
  latency.lowNs = latency.ns / spread;
  latency.highNs = latency.ns * spread;
  latency.outside = outside(dims);
  return latency;
}

std::string LatencyFormula::outside(const DimValues& dims) const {
  for (const auto& [name, value] : dims) {
    const auto sizes = measured.find(name);
    if (sizes == measured.end()) continue;
    const auto [least, most] = sizes->second;
    if (value > most) return fmt::format("{} = {} is above {}, the largest measured", name, value, most);
    if (value < least) return fmt::format("{} = {} is below {}, the least measured", name, value, least);
  }
  return "";
}

// By slopes: what a part of a quantity takes more, or less, than the part before it.
std::string LatencyFormula::formula() const {
  std::string text = coefficientText(baseNs);
  const std::string flops = this->flops();
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

std::string LatencyFormula::flops() const {
  constexpr size_t kMostReadable = 40;  // characters of a quantity in a formula
  std::string found;
  for (const LatencyTerm& term : terms)
    if (term.quantity.size() > kMostReadable) found = term.quantity;
  return found;
}

}  // namespace dyn
