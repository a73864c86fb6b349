#include "app/engine/run/run_statistics.h"

#include <algorithm>
#include <cstdlib>

#include "app/engine/run/run_result.h"
#include "app/engine/run/run_times.h"

namespace dyn {

std::optional<double> TimeStatistics::spreadShare() const {
  if (!spreadNs || medianNs <= 0) return std::nullopt;
  return static_cast<double>(*spreadNs) / static_cast<double>(medianNs);
}

TimeStatistics TimeStatistics::plus(const TimeStatistics& other) const {
  TimeStatistics sum{std::min(count, other.count), medianNs + other.medianNs, std::nullopt};
  if (spreadNs && other.spreadNs) sum.spreadNs = *spreadNs + *other.spreadNs;
  return sum;
}

TimeStatistics statisticsOf(const RunTimes& times) {
  const std::vector<int64_t> quartiles = times.percentilesNs({0.25, 0.5, 0.75});
  TimeStatistics statistics{times.count(), quartiles[1], std::nullopt};
  if (times.count() > 1) statistics.spreadNs = quartiles[2] - quartiles[0];
  return statistics;
}

TimeStatistics statisticsOf(const std::vector<int64_t>& times) {
  RunTimes all;
  for (const int64_t ns : times) all.add(ns);
  return statisticsOf(all);
}

int64_t medianNs(const RunResult& run) { return statisticsOf(run.runsNs).medianNs; }

bool isStable(const TimeStatistics& times, double mostSpreadPercent) {
  const std::optional<double> share = times.spreadShare();
  return times.count >= kLeastStable && share && 100 * *share <= mostSpreadPercent;
}

TimeChange changeOf(const TimeStatistics& first, const TimeStatistics& second) {
  if (!first.spreadNs || !second.spreadNs) return TimeChange::unknown;
  const int64_t difference = second.medianNs - first.medianNs;
  if (std::abs(difference) <= std::max(*first.spreadNs, *second.spreadNs)) return TimeChange::withinNoise;
  return difference > 0 ? TimeChange::slower : TimeChange::faster;
}

const char* toString(TimeChange change) {
  switch (change) {
    case TimeChange::unknown:
      return "unknown";
    case TimeChange::withinNoise:
      return "within noise";
    case TimeChange::faster:
      return "faster";
    case TimeChange::slower:
      return "slower";
  }
  return "?";
}

}  // namespace dyn
