#include "app/engine/run/run_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace dyn {
namespace {

constexpr double kShares[] = {0.001, 0.5, 0.9, 0.99, 1};

int64_t exact(std::vector<int64_t> times, double share) {
  std::sort(times.begin(), times.end());
  const auto place = static_cast<size_t>(std::ceil(share * static_cast<double>(times.size())));
  return times[std::max<size_t>(place, 1) - 1];
}

std::vector<int64_t> someTimes(size_t count) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> around(9, 3);
  std::vector<int64_t> times;
  for (size_t i = 0; i < count; ++i) times.push_back(static_cast<int64_t>(around(random)));
  return times;
}

TEST(RunTimes, fewAreExact) {
  const std::vector<int64_t> times = someTimes(RunTimes::kKept);
  RunTimes kept;
  for (int64_t ns : times) kept.add(ns);
  for (double share : kShares) EXPECT_EQ(kept.percentileNs(share), exact(times, share)) << share;
  EXPECT_EQ(RunTimes().percentileNs(0.5), 0);
}

TEST(RunTimes, manyAreOffByAtMostOnePartIn256) {
  const std::vector<int64_t> times = someTimes(100'000);
  RunTimes counted, first, second;
  double sum = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    counted.add(times[i]);
    (i < 1000 ? first : second).add(times[i]);
    sum += static_cast<double>(times[i]);
  }
  first.add(second);
  for (const RunTimes* all : {&counted, &first}) {
    EXPECT_EQ(all->count(), 100'000);
    EXPECT_EQ(all->leastNs(), *std::min_element(times.begin(), times.end()));
    EXPECT_NEAR(static_cast<double>(all->meanNs()), sum / 100'000, 1);
    for (double share : kShares) {
      const auto right = static_cast<double>(exact(times, share));
      EXPECT_NEAR(static_cast<double>(all->percentileNs(share)), right, right / 256 + 0.5) << share;
    }
  }
}

}  // namespace
}  // namespace dyn
