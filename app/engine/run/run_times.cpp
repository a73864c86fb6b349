#include "app/engine/run/run_times.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dyn {

namespace {

constexpr int kClassBits = 7;  // of a doubling
constexpr int64_t kClasses = int64_t{1} << kClassBits;

// Times below 128 ns are classes of their own.
int64_t classOf(int64_t ns) {
  if (ns < kClasses) return std::max<int64_t>(ns, 0);
  const int shift = std::bit_width(static_cast<uint64_t>(ns)) - 1 - kClassBits;
  return (shift + 1) * kClasses + ((ns >> shift) - kClasses);
}

// The middle of a class.
int64_t runTimeOf(int64_t classOfTime) {
  if (classOfTime < kClasses) return classOfTime;
  const int64_t shift = classOfTime / kClasses - 1, first = (classOfTime % kClasses + kClasses) << shift;
  return first + ((int64_t{1} << shift) - 1) / 2;
}

}  // namespace

void RunTimes::add(int64_t ns) {
  least_ = count_ == 0 ? ns : std::min(least_, ns);
  ++count_;
  sum_ += static_cast<double>(ns);
  if (classes_.empty() && times_.size() < kKept) {
    times_.push_back(ns);
    return;
  }
  giveUpTimes();
  addTo(classOf(ns), 1);
}

void RunTimes::add(const RunTimes& others) {
  if (others.count_ == 0) return;
  if (others.classes_.empty()) {
    for (int64_t ns : others.times_) add(ns);
    return;
  }
  least_ = count_ == 0 ? others.least_ : std::min(least_, others.least_);
  count_ += others.count_;
  sum_ += others.sum_;
  giveUpTimes();
  for (const auto& [classOfTime, count] : others.classes_) addTo(classOfTime, count);
}

void RunTimes::giveUpTimes() {
  for (int64_t ns : times_) addTo(classOf(ns), 1);
  times_ = {};
}

int64_t RunTimes::meanNs() const {
  return count_ == 0 ? 0 : static_cast<int64_t>(sum_ / static_cast<double>(count_));
}

std::vector<int64_t> RunTimes::percentilesNs(std::initializer_list<double> shares) const {
  std::vector<int64_t> sorted = times_;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](int64_t place) {
    if (!sorted.empty()) return sorted[static_cast<size_t>(place - 1)];
    int64_t seen = 0;
    for (const auto& [classOfTime, count] : classes_)
      if ((seen += count) >= place) return std::max(least_, runTimeOf(classOfTime));
    return least_;
  };
  std::vector<int64_t> found;
  for (const double share : shares) {
    const auto place = static_cast<int64_t>(std::ceil(share * static_cast<double>(count_)));
    found.push_back(count_ == 0 ? 0 : at(std::clamp<int64_t>(place, 1, count_)));
  }
  return found;
}

}  // namespace dyn
