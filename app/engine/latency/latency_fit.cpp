// Fits a LatencyModel: piecewise linear in each quantity, rising, by relative errors.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "app/engine/latency/latency_model.h"
#include "app/engine/latency/nonnegative_fit.h"
#include "app/engine/model/formula.h"
#include "compiler/dims/dim.h"

namespace dyn {

namespace {

constexpr size_t kMostQuantities = 7, kMostPieces = 4, kMostFormulaText = 4096;
constexpr double kWorthMoreTerms = 0.8;  // of the mean square error
constexpr size_t kMostReadable = 40;     // characters of a quantity in a formula

// One for each size: the shorter of its times.
std::vector<LatencySample> sizesOf(const std::vector<LatencySample>& samples) {
  std::map<DimValues, LatencySample> sizes;
  for (const LatencySample& sample : samples) {
    if (sample.time.medianNs <= 0) continue;
    const auto [found, isNew] = sizes.emplace(sample.dims, sample);
    if (!isNew && sample.time.medianNs < found->second.time.medianNs) found->second = sample;
  }
  std::vector<LatencySample> list;
  for (auto& [dims, sample] : sizes) list.push_back(std::move(sample));
  std::stable_sort(list.begin(), list.end(), [](const LatencySample& a, const LatencySample& b) {
    return a.time.medianNs < b.time.medianNs;
  });
  return list;
}

// A quantity with its value at each size.
struct Quantity {
  std::string text;
  std::vector<double> values;
};

// Those that differ from size to size, and not in the same way as one before.
std::vector<Quantity> quantitiesOf(const std::vector<std::string>& texts,
                                   const std::vector<LatencySample>& sizes) {
  std::vector<Quantity> found;
  for (const std::string& text : texts) {
    Quantity quantity{text, {}};
    for (const LatencySample& size : sizes)
      if (const std::optional<int64_t> value = formulaValue(text, size.dims); value && *value >= 0)
        quantity.values.push_back(static_cast<double>(*value));
    if (quantity.values.size() < sizes.size()) continue;
    const auto [least, most] = std::minmax_element(quantity.values.begin(), quantity.values.end());
    if (*least == *most) continue;
    const auto isSame = [&](const Quantity& other) {
      const double factor = other.values.back() > 0 ? quantity.values.back() / other.values.back() : 0;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (std::abs(quantity.values[i] - factor * other.values[i]) > 1e-9 * std::abs(quantity.values[i]))
          return false;
      return factor > 0;
    };
    if (std::none_of(found.begin(), found.end(), isSame)) found.push_back(std::move(quantity));
    if (found.size() == kMostQuantities) break;
  }
  return found;
}

// The elements of a vector: a length takes as long as the next multiple.
constexpr int64_t kWhole = 16;

// With the product of all dims of which one is a multiple of kWhole, for each that was measured between such.
// They stand behind what is the model's arithmetic.
std::vector<std::string> withWholeVectors(std::vector<std::string> quantities,
                                          const std::vector<LatencySample>& sizes) {
  const DimValues& dims = sizes.front().dims;
  const auto place = std::find_if(quantities.begin() + (quantities.empty() ? 0 : 1), quantities.end(),
                                  [&](const std::string& text) { return dims.contains(text); });
  std::vector<std::string> added;
  for (const auto& dim : dims) {
    const auto valueIn = [&](const LatencySample& size) {
      const auto value = size.dims.find(dim.first);
      return value == size.dims.end() ? 0 : value->second;
    };
    if (std::none_of(sizes.begin(), sizes.end(),
                     [&](const LatencySample& size) { return valueIn(size) >= 2 * kWhole; }) ||
        std::none_of(sizes.begin(), sizes.end(),
                     [&](const LatencySample& size) { return valueIn(size) % kWhole != 0; }))
      continue;
    std::string product;
    for (const auto& factor : dims)
      product += (product.empty() ? "" : "*") +
                 (factor.first == dim.first
                      ? fmt::format("{0}*floordiv({1} + {2}, {0})", kWhole, dim.first, kWhole - 1)
                      : factor.first);
    added.push_back(std::move(product));
  }
  quantities.insert(place, added.begin(), added.end());
  return quantities;
}

// The parts of each quantity: between its least and its largest value the same factor from end to end.
std::vector<LatencyTerm> piecesOf(const std::vector<Quantity>& quantities, size_t pieces) {
  std::vector<LatencyTerm> terms;
  for (const Quantity& quantity : quantities) {
    const auto [least, most] = std::minmax_element(quantity.values.begin(), quantity.values.end());
    const double low = std::max(*least, 1.0), ratio = *most / low;
    double from = 0;
    for (size_t piece = 1; piece < pieces; ++piece) {
      const double to =
          std::round(low * std::pow(ratio, static_cast<double>(piece) / static_cast<double>(pieces)));
      if (to <= from || to <= *least || to >= *most) continue;
      terms.push_back({quantity.text, from, to, 0});
      from = to;
    }
    terms.push_back({quantity.text, from, std::nullopt, 0});
  }
  return terms;
}

class Fit {
 public:
  Fit(const std::vector<LatencySample>& sizes, const std::vector<Quantity>& quantities, size_t pieces)
      : terms_(piecesOf(quantities, pieces)) {
    columns_.emplace_back(sizes.size(), 1.0);
    for (const LatencyTerm& term : terms_) {
      std::vector<double>& column = columns_.emplace_back();
      const auto quantity = std::find_if(quantities.begin(), quantities.end(),
                                         [&](const Quantity& one) { return one.text == term.quantity; });
      for (const double value : quantity->values)
        column.push_back(std::max(0.0, std::min(value, term.to.value_or(value)) - term.from));
    }
    for (const LatencySample& size : sizes) times_.push_back(static_cast<double>(size.time.medianNs));
    for (size_t i = 0; i < sizes.size(); ++i) leftOut_.push_back(valueAt(coefficients(i), i));
  }
  // Nanoseconds for each size by the fit of all others.
  const std::vector<double>& leftOut() const { return leftOut_; }
  // The mean square of log(time / leftOut).
  double error() const {
    double sum = 0;
    for (size_t i = 0; i < times_.size(); ++i) sum += logError(i) * logError(i);
    return sum / static_cast<double>(times_.size());
  }
  double logError(size_t i) const { return std::log(times_[i] / std::max(leftOut_[i], 1.0)); }
  void fill(LatencyModel& model) const {
    const std::vector<double> all = coefficients(times_.size());
    model.baseNs = all[0];
    model.terms = terms_;
    for (size_t i = 0; i < terms_.size(); ++i) model.terms[i].ns = all[i + 1];
    // Without the parts of quantities that take no time at all.
    std::set<std::string> counts;
    for (const LatencyTerm& term : model.terms)
      if (term.ns > 0) counts.insert(term.quantity);
    std::erase_if(model.terms, [&](const LatencyTerm& term) { return !counts.contains(term.quantity); });
    model.leftOut = leftOut_;
  }

 private:
  std::vector<double> coefficients(size_t without) const {
    std::vector<std::vector<double>> columns;
    for (const std::vector<double>& column : columns_) {
      std::vector<double>& relative = columns.emplace_back();
      for (size_t i = 0; i < times_.size(); ++i)
        if (i != without) relative.push_back(column[i] / times_[i]);
    }
    return nonnegativeFit(columns);
  }
  double valueAt(const std::vector<double>& coefficients, size_t i) const {
    double ns = 0;
    for (size_t c = 0; c < columns_.size(); ++c) ns += coefficients[c] * columns_[c][i];
    return ns;
  }

  std::vector<LatencyTerm> terms_;
  std::vector<std::vector<double>> columns_;
  std::vector<double> times_, leftOut_;
};

// 2.5 times the usual error, which few exceed, and at least what nine of ten sizes stay within.
double spreadOf(const Fit& fit, size_t count) {
  std::vector<double> errors;
  for (size_t i = 0; i < count; ++i) errors.push_back(std::abs(fit.logError(i)));
  std::sort(errors.begin(), errors.end());
  constexpr double kLeast = 0.01;
  return std::exp(std::max({kLeast, 2.5 * std::sqrt(fit.error()), errors[count * 9 / 10]}));
}

}  // namespace

std::vector<std::string> latencyQuantities(const std::vector<std::string>& dims, const std::string& flops) {
  std::vector<std::string> texts;
  const auto add = [&](const std::string& text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  };
  std::string product;
  for (const std::string& dim : dims) product += (product.empty() ? "" : "*") + dim;
  if (!product.empty()) add(product);
  if (!flops.empty() && flops.size() <= kMostFormulaText) {
    add(flops);
    DimContext context;
    if (const Result<Dim> parsed = parseDim(context, flops); parsed.ok() && parsed->kind() == DimKind::add)
      for (const Dim part : parsed->operands()) {
        if (part.isConstant()) continue;
        std::string text;
        for (const Dim factor :
             part.kind() == DimKind::mul ? part.operands() : std::span<const Dim>(&part, 1))
          if (!factor.isConstant()) text += (text.empty() ? "" : "*") + factor.toString();
        if (text.size() <= kMostReadable) add(text);
      }
  }
  for (const std::string& dim : dims) add(dim);
  for (size_t i = 0; i < dims.size(); ++i)
    for (size_t j = i + 1; j < dims.size(); ++j) add(dims[i] + "*" + dims[j]);
  return texts;
}

Result<LatencyModel> fitLatency(const std::vector<std::string>& quantities,
                                const std::vector<LatencySample>& samples) {
  LatencyModel model;
  model.samples = sizesOf(samples);
  const size_t count = model.samples.size();
  if (count < kLeastLatencySizes)
    return makeError(DiagnosticId::usageError, "a formula of the time needs runs at " +
                                                   std::to_string(kLeastLatencySizes) +
                                                   " sizes or more, not at " + std::to_string(count));
  const std::vector<Quantity> found =
      quantitiesOf(withWholeVectors(quantities, model.samples), model.samples);
  std::optional<Fit> best;
  for (size_t used = 1; used <= std::max<size_t>(found.size(), 1); ++used)
    for (size_t pieces = 1; pieces <= kMostPieces; pieces *= 2) {
      const std::vector<Quantity> some(found.begin(),
                                       found.begin() + static_cast<ptrdiff_t>(std::min(used, found.size())));
      Fit fit(model.samples, some, pieces);
      if (!best || fit.error() < kWorthMoreTerms * best->error()) best = std::move(fit);
    }
  best->fill(model);
  model.spread = spreadOf(*best, count);
  for (const LatencySample& sample : model.samples)
    for (const auto& [name, value] : sample.dims) {
      const auto [sizes, isNew] = model.measured.try_emplace(name, LatencyFormula::Sizes{value, value});
      sizes->second.least = std::min(sizes->second.least, value);
      sizes->second.most = std::max(sizes->second.most, value);
    }
  return model;
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
