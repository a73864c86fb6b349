#include "app/session/answers/sweep_view.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/predict_views.h"
#include "compiler/dims/dim.h"

namespace dyn {

namespace {

std::vector<int64_t> sizesBetween(const LimitSymbol& symbol, int64_t first, int64_t last, int64_t count) {
  const int64_t multiple = std::max<int64_t>(symbol.multiple, 1);
  const int64_t low = *checkedCeilDiv(std::max<int64_t>(first, 0), multiple), high = last / multiple;
  std::set<int64_t> sizes;
  for (int64_t i = 0; i < count && low <= high; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(count - 1);
    const double step = part * static_cast<double>(high - low);
    sizes.insert((step < 0x1p62 ? std::min(low + static_cast<int64_t>(std::llround(step)), high) : high) *
                 multiple);
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace

Result<SweepView> sweepView(const LimitSymbol& symbol, const std::vector<LimitSymbol>& all,
                            const DimValues& given, int64_t first, int64_t last, int64_t pointsCount,
                            const ForecastOfDims& forecast, const std::function<void(double)>& progress) {
  SweepView view;
  view.symbol = symbol.name;
  for (const LimitSymbol& other : all) {
    if (other.name == symbol.name) continue;
    const auto known = given.find(other.name);
    view.others[other.name] = known != given.end() ? known->second : usualValue(other);
  }
  const std::vector<int64_t> sizes = sizesBetween(symbol, first, last, pointsCount);
  if (sizes.empty())
    return makeError(DiagnosticId::usageError, "there is no size of " + symbol.name + " between " +
                                                   std::to_string(first) + " and " + std::to_string(last));
  std::map<int64_t, Result<Forecast>> known;
  const auto at = [&](int64_t size) -> const Result<Forecast>& {
    const auto found = known.find(size);
    if (found != known.end()) return found->second;
    DimValues dims = view.others;
    dims[symbol.name] = size;
    return known.emplace(size, forecast(dims)).first->second;
  };
  const auto isOver = [](const Result<Forecast>& one) {
    return !one.ok() &&
           (one.error().id == DiagnosticId::cancelled || one.error().id == DiagnosticId::unsupportedFeature);
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    progress(static_cast<double>(i) / static_cast<double>(sizes.size()));
    if (const Result<Forecast>& one = at(sizes[i]); isOver(one)) return Error{one.error()};
    // Between a size that can be run and one that cannot: where it ends.
    int64_t low = i > 0 ? sizes[i - 1] : sizes[i], high = sizes[i];
    const int64_t step = std::max<int64_t>(symbol.multiple, 1);
    while (high - low > step && at(low).ok() != at(high).ok()) {
      const int64_t middle = (low / step + (high - low) / step / 2) * step;
      if (isOver(at(middle))) return Error{at(middle).error()};
      (at(middle).ok() == at(low).ok() ? low : high) = middle;
    }
  }
  for (auto& [size, one] : known) {
    SweepPoint point;
    point.value = size;
    if (!one.ok()) {
      point.refused = one.error().message;
      view.points.push_back(std::move(point));
      continue;
    }
    point.timeNs = one->timeNs;
    point.peakBytes = one->peakBytes;
    const int band = view.points.empty() ? -1 : view.points.back().band;
    if (band >= 0 && view.bands[static_cast<size_t>(band)].versions == one->versions) {
      view.bands[static_cast<size_t>(band)].to = size;
      point.band = band;
    } else {
      point.band = static_cast<int>(view.bands.size());
      view.bands.push_back({size, size, one->versions});
    }
    view.points.push_back(std::move(point));
  }
  return view;
}

std::string versionsText(const std::vector<ContractionRow>& rows) {
  std::vector<std::string> versions;
  for (const ContractionRow& row : rows) {
    const std::string text = contraction::textOf(row.chosen);
    if (std::find(versions.begin(), versions.end(), text) == versions.end()) versions.push_back(text);
  }
  std::sort(versions.begin(), versions.end());
  std::string all;
  for (const std::string& version : versions) all += (all.empty() ? "" : "; ") + version;
  return all;
}

std::vector<MeasuredRun> measuredAlong(const std::vector<MeasuredRun>& runs, const std::string& symbol,
                                       const DimValues& others) {
  std::vector<MeasuredRun> found;
  for (const MeasuredRun& run : runs) {
    DimValues rest = run.dims;
    if (rest.erase(symbol) == 1 && rest == others) found.push_back(run);
  }
  return found;
}

}  // namespace dyn
