// Requests are joined where that takes less time, and the other way is tried now and then.
#include "app/engine/serving/joining_costs.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

// The share of requests that ran joined, of many that come in groups of 8, where a position costs so much.
double joinedShare(JoiningCosts& costs, int64_t aloneNs, int64_t joinedNs, int64_t requests) {
  int64_t joined = 0;
  for (int64_t done = 0; done < requests;) {
    if (costs.join(8)) {
      costs.ranJoined(8, 8, 80, joinedNs * 80);
      joined += 8;
      done += 8;
    } else {
      costs.ranAlone(10, aloneNs * 10);
      ++done;
    }
  }
  return static_cast<double>(joined) / static_cast<double>(requests);
}

TEST(JoiningCosts, TakesTheFasterWayAndNoticesAChange) {
  JoiningCosts costs;
  EXPECT_FALSE(costs.join(1));
  EXPECT_GT(joinedShare(costs, 100, 50, 10'000), 0.98);
  joinedShare(costs, 100, 300, 10'000);  // another load
  EXPECT_LT(joinedShare(costs, 100, 300, 10'000), 0.03);
  joinedShare(costs, 100, 40, 10'000);
  EXPECT_GT(joinedShare(costs, 100, 40, 10'000), 0.98);
}

TEST(JoiningCosts, ARunThatWasHeldUpDecidesNothing) {
  JoiningCosts costs;
  joinedShare(costs, 100, 50, 1000);
  costs.ranJoined(8, 8, 80, 80 * 1'000'000);
  EXPECT_TRUE(costs.join(8));
}

TEST(JoiningCosts, FewWaitingAreAnotherCaseThanMany) {
  JoiningCosts costs;
  for (int i = 0; i < 20; ++i) costs.ranAlone(1, 100);
  for (int i = 0; i < 20; ++i) costs.ranJoined(2, 0, 2, 400);
  for (int i = 0; i < 20; ++i) costs.ranJoined(16, 0, 16, 800);
  costs.ranAlone(1, 100);
  EXPECT_FALSE(costs.join(2));
  EXPECT_TRUE(costs.join(16));
}

}  // namespace
}  // namespace dyn
