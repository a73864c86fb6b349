// The formulas of tiles and workers, and how few measurements a tuning needs: on times that are made up, so that nothing depends on a clock.
#include "compiler/tune/trial_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace dyn {
namespace {

TEST(TrialPlan, D_d_paddingIsThePartOfTheTilesThatIsWanted) {
  const auto padding = [](std::vector<int64_t> extents, std::vector<int64_t> tiles) {
    return paddingFactor(extents, tiles);
  };
  EXPECT_DOUBLE_EQ(padding({128}, {16}), 1);
  EXPECT_DOUBLE_EQ(padding({1}, {16}), 1.0 / 16);
  EXPECT_DOUBLE_EQ(padding({17}, {16}), 17.0 / 32);
  EXPECT_DOUBLE_EQ(padding({59, 770}, {14, 32}), 59.0 / 70 * 770.0 / 800);
  EXPECT_DOUBLE_EQ(padding({}, {}), 1);
  for (int64_t extent = 1; extent < 100; ++extent)
    for (int64_t tile = 1; tile < 40; ++tile) {
      const double factor = padding({extent}, {tile});
      EXPECT_GT(factor, 0);
      EXPECT_LE(factor, 1);
      EXPECT_EQ(factor == 1, extent % tile == 0) << extent << " in tiles of " << tile;
    }
}

TEST(TrialPlan, D_d_occupancyIsThePartOfTheWorkersThatIsBusy) {
  // k = 1: tasks / (tasks rounded up to the workers).
  EXPECT_DOUBLE_EQ(occupancyFactor(1, 8), 1.0 / 8);
  EXPECT_DOUBLE_EQ(occupancyFactor(8, 8), 1);
  EXPECT_DOUBLE_EQ(occupancyFactor(9, 8), 9.0 / 16);
  EXPECT_DOUBLE_EQ(occupancyFactor(16, 1), 1);
  // k * g / ((k - 1) * g + round_up(g, C))
  EXPECT_DOUBLE_EQ(occupancyFactor(20, 40, 1.433), 1.433 * 20 / (0.433 * 20 + 40));
  EXPECT_DOUBLE_EQ(occupancyFactor(90, 40, 2.14), 2.14 * 90 / (1.14 * 90 + 120));
  for (int64_t tasks = 1; tasks < 60; ++tasks)
    for (int64_t workers : {1, 2, 7}) {
      EXPECT_GE(occupancyFactor(tasks, workers, 2), occupancyFactor(tasks, workers))
          << "a last round costs less";
      EXPECT_LE(occupancyFactor(tasks, workers, 2), 1);
      EXPECT_EQ(occupancyFactor(tasks, workers) == 1, tasks % workers == 0);
    }
}

// True times, and what is expected of them: right up to a factor of each version's own and a little noise of each pair.
struct World {
  std::vector<std::vector<double>> times, costs, fits;
  std::vector<TrialPlan::Shape> shapes;

  World(size_t versions, size_t shapesCount, uint32_t seed, double noise) {
    std::mt19937 random(seed);
    const auto between = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random);
    };
    for (size_t s = 0; s < shapesCount; ++s) shapes.push_back({int64_t{1} << s, between(0.5, 1.5)});
    for (size_t v = 0; v < versions; ++v) {
      const double fixed = between(10, 200), each = between(1, 3), factor = between(0.7, 1.4);
      times.emplace_back();
      costs.emplace_back();
      fits.emplace_back();
      for (const TrialPlan::Shape& shape : shapes) {
        times.back().push_back(fixed + each * static_cast<double>(shape.elements));
        costs.back().push_back(times.back().back() * factor * between(1 - noise, 1 + noise));
        fits.back().push_back(between(0.2, 1));
      }
    }
  }
  TrialPlan measured(int64_t trials) const {
    TrialPlan plan(costs, fits, shapes, trials);
    while (std::optional<TrialPlan::Trial> trial = plan.next())
      plan.note(*trial, times[trial->version][trial->shape]);
    return plan;
  }
  double trueAverage(size_t version) const {
    double sum = 0, weights = 0;
    for (size_t s = 0; s < shapes.size(); ++s) {
      sum += shapes[s].weight * times[version][s];
      weights += shapes[s].weight;
    }
    return sum / weights;
  }
};

size_t bestOf(const TrialPlan& plan, size_t versions) {
  size_t best = 0;
  for (size_t v = 1; v < versions; ++v)
    if (plan.averageNs(v) < plan.averageNs(best)) best = v;
  return best;
}

TEST(TrialPlan, D_d_eachVersionIsMeasuredOnceWhereItFitsBest) {
  const World world(12, 8, 1, 0.02);
  TrialPlan plan(world.costs, world.fits, world.shapes, 12);
  std::vector<size_t> seen;
  while (std::optional<TrialPlan::Trial> trial = plan.next()) {
    seen.push_back(trial->version);
    const std::vector<double>& fits = world.fits[trial->version];
    EXPECT_EQ(trial->shape, static_cast<size_t>(std::max_element(fits.begin(), fits.end()) - fits.begin()));
    plan.note(*trial, world.times[trial->version][trial->shape]);
  }
  EXPECT_EQ(plan.trialsUsed(), 12);
  std::vector<size_t> all(12);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_EQ(seen, all);
  // Where the costs are right up to a factor, what is expected elsewhere is right.
  const World exact(5, 6, 2, 0);
  const TrialPlan known = exact.measured(5);
  for (size_t v = 0; v < 5; ++v)
    for (size_t s = 0; s < 6; ++s)
      EXPECT_NEAR(known.timeNs(v, s), exact.times[v][s], 1e-9 * exact.times[v][s]);
}

TEST(TrialPlan, D_d_ofEqualFitsTheLargerShapeIsMeasured) {
  const TrialPlan plan({{1, 2, 3}}, {{1, 1, 0.5}}, {{10, 1}, {20, 1}, {30, 1}}, 3);
  EXPECT_EQ(plan.next(), (TrialPlan::Trial{0, 1}));
}

// The winner at one large size is not the winner on average: a fixed part that is high counts little there.
TEST(TrialPlan, C30_leadersAreComparedAtTheOtherSizesByWeight) {
  // Powers of two up to 256; version 0 is the best at 256, version 1 over all sizes. Costs know neither.
  World world(2, 9, 3, 0);
  for (size_t s = 0; s < 9; ++s) {
    const auto n = static_cast<double>(int64_t{1} << s);
    world.shapes[s] = {int64_t{1} << s, 1};
    world.times[0][s] = 300 + n;
    world.times[1][s] = 20 + 2.2 * n;
    world.costs[0][s] = world.costs[1][s] = n;
    world.fits[0][s] = world.fits[1][s] = 1;  // so both are measured at the largest first
  }
  EXPECT_EQ(bestOf(world.measured(2), 2), 0u);
  const TrialPlan compared = world.measured(18);
  EXPECT_EQ(compared.trialsUsed(), 18);
  EXPECT_EQ(bestOf(compared, 2), 1u);
  // The weights decide: with all of it on the largest size the other one wins.
  for (size_t s = 0; s < 9; ++s) world.shapes[s].weight = s == 8 ? 1000 : 1e-3;
  EXPECT_EQ(bestOf(world.measured(18), 2), 0u);
}

TEST(TrialPlan, D_h_eightLengthsTogetherNeedAQuarterOfTheTrialsForTheSameQuality) {
  double worst = 1;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    constexpr size_t kVersions = 7, kLengths = 8;
    const World world(kVersions, kLengths, seed, 0.05);
    const int64_t separate = kVersions * kLengths;  // each version at each length
    const TrialPlan plan = world.measured(separate / 4);
    EXPECT_LE(plan.trialsUsed() * 4, separate);
    double best = HUGE_VAL;
    for (size_t v = 0; v < kVersions; ++v) best = std::min(best, world.trueAverage(v));
    worst = std::max(worst, world.trueAverage(bestOf(plan, kVersions)) / best);
  }
  EXPECT_LE(worst, 1.05);
}

TEST(TrialPlan, endsWhenAllIsMeasured) {
  const World world(3, 2, 4, 0.1);
  EXPECT_EQ(world.measured(1000).trialsUsed(), 6);
  EXPECT_EQ(world.measured(0).trialsUsed(), 0);
}

}  // namespace
}  // namespace dyn
