// Statistics of the times of repeated runs: when there are enough of them, and whether two medians differ.
//
//   TimeStatistics first = statisticsOf({100, 101, 99, 103});   // 4 runs, median 100, spread 2
//   changeOf(first, second)                                     // faster, slower or within the noise
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dyn {

class RunTimes;
struct RunResult;

struct TimeStatistics {
  int64_t count = 0, medianNs = 0;
  // From the lower quartile to the upper: the middle half of the times. Of a single time it is not known.
  std::optional<int64_t> spreadNs;
  // The spread over the median.
  std::optional<double> spreadShare() const;
  // Of two parts that run one after the other: medians and spreads are added.
  TimeStatistics plus(const TimeStatistics& other) const;
};
TimeStatistics statisticsOf(const RunTimes& times);
TimeStatistics statisticsOf(const std::vector<int64_t>& times);

// The same median; 0 without repetitions.
int64_t medianNs(const RunResult& run);

// From at least kLeastStable times on: the spread is at most this percentage of the median.
constexpr int64_t kLeastStable = 5;
bool isStable(const TimeStatistics& times, double mostSpreadPercent);

// The second time against the first. Their difference is noise where it is not larger than the larger of
// their spreads; where a spread is not known, nothing is said.
enum class TimeChange : uint8_t { unknown, withinNoise, faster, slower };
TimeChange changeOf(const TimeStatistics& first, const TimeStatistics& second);
const char* toString(TimeChange change);  // "unknown", "within noise", "faster", "slower"

}  // namespace dyn
