#include "app/engine/run/run_statistics.h"

#include <gtest/gtest.h>

#include "app/engine/run/runner.h"

namespace dyn {
namespace {

TEST(RunStatistics, TheSpreadIsTheMiddleHalfOfTheTimes) {
  const TimeStatistics none = statisticsOf(std::vector<int64_t>{});
  EXPECT_EQ(none.count, 0);
  EXPECT_FALSE(none.spreadNs);
  const TimeStatistics one = statisticsOf(std::vector<int64_t>{70});
  EXPECT_EQ(one.medianNs, 70);
  EXPECT_FALSE(one.spreadNs) << "of one time nothing is known";
  EXPECT_FALSE(one.spreadShare());
  // Of eight times the second, fourth and sixth; an outlier does not count.
  const TimeStatistics eight = statisticsOf(std::vector<int64_t>{103, 100, 9'000, 98, 99, 101, 102, 104});
  EXPECT_EQ(eight.medianNs, 101);
  EXPECT_EQ(eight.spreadNs, 103 - 99);
  EXPECT_NEAR(*eight.spreadShare(), 4.0 / 101, 1e-9);
}

TEST(RunStatistics, FromFiveTimesOnARunCanBeStable) {
  EXPECT_FALSE(isStable(statisticsOf(std::vector<int64_t>{100, 100, 100, 100}), 3));
  EXPECT_TRUE(isStable(statisticsOf(std::vector<int64_t>{100, 100, 100, 100, 100}), 3));
  EXPECT_TRUE(isStable({100, 1000, 30}, 3));
  EXPECT_FALSE(isStable({100, 1000, 31}, 3));
}

TEST(RunStatistics, ADifferenceWithinTheLargerSpreadIsNoise) {
  const TimeStatistics first{50, 1000, 40};
  EXPECT_EQ(changeOf(first, {50, 1040, 10}), TimeChange::withinNoise);
  EXPECT_EQ(changeOf(first, {50, 960, 10}), TimeChange::withinNoise);
  EXPECT_EQ(changeOf(first, {50, 1041, 10}), TimeChange::slower);
  EXPECT_EQ(changeOf(first, {50, 959, 10}), TimeChange::faster);
  EXPECT_EQ(changeOf(first, {50, 1041, 41}), TimeChange::withinNoise) << "the second spreads more";
  EXPECT_EQ(changeOf(first, {1, 5000, std::nullopt}), TimeChange::unknown);
  EXPECT_EQ(changeOf({1, 5000, std::nullopt}, first), TimeChange::unknown);
}

RunTimes timesOf(int64_t count, int64_t ns, int64_t apart) {
  RunTimes times;
  for (int64_t i = 0; i < count; ++i) times.add(ns + (i % 2) * apart);
  return times;
}

TEST(RunStatistics, ARunIsRepeatedUntilItIsStableOrItsTimeIsOver) {
  RunRequest request;
  request.mostSpreadPercent = 3;
  request.seconds = 2;
  EXPECT_TRUE(goesOn(request, {}, 0));
  EXPECT_TRUE(goesOn(request, timesOf(4, 1000, 0), 0.1)) << "four are too few";
  EXPECT_FALSE(goesOn(request, timesOf(5, 1000, 0), 0.1));
  EXPECT_TRUE(goesOn(request, timesOf(5000, 1000, 0), 0.09)) << "the machine is not used to it yet";
  EXPECT_TRUE(goesOn(request, timesOf(5, 1000, 100), 0.1)) << "they spread over 10 %";
  EXPECT_FALSE(goesOn(request, timesOf(5, 1000, 100), 2)) << "two seconds are over";
  EXPECT_FALSE(goesOn(request, timesOf(1, 1000, 100), 2)) << "after one long run, too";
  EXPECT_FALSE(goesOn(request, timesOf(RunRequest::kMostRepeats, 1000, 100), 0.1));
  request.repeat = 20;
  EXPECT_TRUE(goesOn(request, timesOf(19, 1000, 0), 5)) << "so many were asked for";
  // Without a wish for stability: a number, or a time.
  RunRequest plain;
  plain.repeat = 3;
  EXPECT_TRUE(goesOn(plain, timesOf(2, 1000, 0), 9));
  EXPECT_FALSE(goesOn(plain, timesOf(3, 1000, 0), 0));
  plain.seconds = 1;
  EXPECT_TRUE(goesOn(plain, timesOf(100, 1000, 0), 0.5));
  EXPECT_FALSE(goesOn(plain, timesOf(100, 1000, 0), 1));
}

}  // namespace
}  // namespace dyn
