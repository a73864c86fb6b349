#include "app/engine/generate/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace dyn {
namespace {

int64_t picked(Sampler& sampler, std::vector<float> scores, const std::vector<int64_t>& history = {}) {
  Result<int64_t> token = sampler.pick(scores, history);
  EXPECT_TRUE(token.ok()) << token.error().message;
  return token.ok() ? *token : -1;
}

std::map<int64_t, int> countsOf(const SamplingPolicy& policy, const std::vector<float>& scores, int draws) {
  Sampler sampler(policy, 0);
  std::map<int64_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[picked(sampler, scores)];
  return counts;
}

TEST(Sampling, WithoutTemperatureTheBestIsTakenAndOfEqualOnesTheFirst) {
  Sampler sampler({}, 0);
  EXPECT_EQ(picked(sampler, {1, 3, 2}), 1);
  EXPECT_EQ(picked(sampler, {1, 3, 3}), 1);
  EXPECT_EQ(picked(sampler, {std::nanf(""), -1, -2}), 1);
}

TEST(Sampling, ScoresThatAreNoNumbersAreAnError) {
  Sampler sampler({}, 0);
  std::vector<float> none{std::nanf(""), -INFINITY}, endless{1, INFINITY};
  EXPECT_FALSE(sampler.pick(none, {}).ok());
  EXPECT_FALSE(sampler.pick(endless, {}).ok());
}

TEST(Sampling, DrawsAreAsOftenAsTheProbabilitiesSay) {
  const std::vector<float> scores{std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  const auto counts = countsOf({.temperature = 1}, scores, 20000);
  EXPECT_NEAR(counts.at(0), 10000, 300);
  EXPECT_NEAR(counts.at(1), 6000, 300);
  EXPECT_NEAR(counts.at(2), 4000, 300);
  // At half the temperature the probabilities are squared: 25 : 9 : 4.
  const auto cold = countsOf({.temperature = 0.5}, scores, 19000);
  EXPECT_NEAR(cold.at(0), 12500, 300);
  EXPECT_NEAR(cold.at(2), 2000, 200);
}

TEST(Sampling, TopKAndTopPLeaveTheBest) {
  const std::vector<float> scores{std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  EXPECT_THAT(countsOf({.temperature = 1, .topK = 2}, scores, 500),
              testing::UnorderedElementsAre(testing::Key(1), testing::Key(2)));
  EXPECT_THAT(countsOf({.temperature = 1, .topP = 0.75}, scores, 500),
              testing::UnorderedElementsAre(testing::Key(1), testing::Key(2)));
  EXPECT_THAT(countsOf({.temperature = 1, .topP = 0.45}, scores, 500), testing::ElementsAre(testing::Key(1)));
  EXPECT_EQ(countsOf({.temperature = 1, .topK = 7}, scores, 500).size(), 3U);
}

TEST(Sampling, APenaltyMakesWhatIsThereLessLikely) {
  Sampler sampler({.repetitionPenalty = 2}, 0);
  EXPECT_EQ(picked(sampler, {4, 3, 1}, {0, 0}), 1);      // 2, 3, 1
  EXPECT_EQ(picked(sampler, {-1, -1.5, -9}, {0}), 1);    // -2, -1.5, -9
  EXPECT_EQ(picked(sampler, {4, 3, 1}, {7, -1, 2}), 0);  // ids beyond the scores are passed over
}

TEST(Sampling, SeedsAndSequencesSayTheDraws) {
  const std::vector<float> scores(50, 0);
  const auto draws = [&](uint64_t seed, uint64_t sequence) {
    Sampler sampler({.temperature = 1, .seed = seed}, sequence);
    std::vector<int64_t> all;
    for (int i = 0; i < 20; ++i) all.push_back(picked(sampler, scores));
    return all;
  };
  EXPECT_EQ(draws(3, 1), draws(3, 1));
  EXPECT_NE(draws(3, 1), draws(3, 2));
  EXPECT_NE(draws(3, 1), draws(4, 1));
}

}  // namespace
}  // namespace dyn
