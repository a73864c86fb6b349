// RunTimes: how long many runs took, in memory that does not grow with them.
//
// Up to 4,096 times are kept as they are. More are counted in classes of equal ratio, 128 for each doubling:
// a percentile is then off by at most 1 part in 256. Count, least and mean are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <vector>

namespace dyn {

class RunTimes {
 public:
  void add(int64_t ns);
  void add(const RunTimes& others);
  int64_t count() const { return count_; }
  int64_t leastNs() const { return least_; }
  int64_t meanNs() const;
  // The time that the given share of the runs did not exceed; 0 without runs.
  int64_t percentileNs(double share) const { return percentilesNs({share})[0]; }
  // Of each share; the times are sorted once.
  std::vector<int64_t> percentilesNs(std::initializer_list<double> shares) const;

  static constexpr size_t kKept = 4096;

 private:
  void addTo(int64_t classOfTime, int64_t count) { classes_[classOfTime] += count; }
  void giveUpTimes();

  int64_t count_ = 0, least_ = 0;
  double sum_ = 0;
  std::vector<int64_t> times_;          // as long as they are few
  std::map<int64_t, int64_t> classes_;  // by class; how many
};

}  // namespace dyn
