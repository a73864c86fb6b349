#include "app/engine/latency/latency_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "app/engine/latency/latency_sizes.h"

namespace dyn {
namespace {

using testing::Contains;
using testing::HasSubstr;

LatencySample sampleOf(DimValues dims, double ns) {
  return {std::move(dims), {5, static_cast<int64_t>(std::llround(ns)), 1}};
}

std::vector<LatencySample> samplesOf(const std::function<double(double batch, double seq)>& ns) {
  std::vector<LatencySample> samples;
  for (const int64_t batch : {1, 2, 4})
    for (const int64_t seq : {1, 3, 8, 32, 100, 256})
      samples.push_back(sampleOf({{"batch", batch}, {"seq", seq}},
                                 ns(static_cast<double>(batch), static_cast<double>(seq))));
  return samples;
}

const std::vector<std::string> kQuantities =
    latencyQuantities({"batch", "seq"}, "2*batch*seq*seq + 512*batch*seq + 7");

TEST(LatencyModel, quantitiesAreDimsTheirProductsAndPartsOfTheArithmetic) {
  EXPECT_THAT(kQuantities, Contains("batch*seq"));
  EXPECT_THAT(kQuantities, Contains("batch*seq*seq"));
  EXPECT_THAT(kQuantities, Contains("seq"));
  EXPECT_EQ(latencyQuantities({"n"}, ""), std::vector<std::string>{"n"});
  EXPECT_TRUE(latencyQuantities({}, "").empty());
}

TEST(LatencyModel, findsTheFormulaThatMadeTheTimes) {
  const auto time = [](double batch, double seq) {
    return 4e5 + 9000 * batch * seq + 40 * batch * seq * seq;
  };
  const Result<LatencyModel> model = fitLatency(kQuantities, samplesOf(time));
  ASSERT_TRUE(model.ok()) << model.error().toString();
  EXPECT_LT(model->spread, 1.02);
  EXPECT_EQ(model->insideCount(), model->samples.size());
  for (const int64_t seq : {2, 17, 59, 211}) {
    const std::optional<Latency> at = model->at({{"batch", 3}, {"seq", seq}});
    ASSERT_TRUE(at);
    EXPECT_NEAR(at->ns / time(3, static_cast<double>(seq)), 1, 0.02) << seq << " by " << model->formula();
    EXPECT_EQ(at->outside, "");
    EXPECT_LT(at->lowNs, at->ns);
    EXPECT_GT(at->highNs, at->ns);
  }
}

// The rate of a product is another where its rows fill the registers.
TEST(LatencyModel, aSlopeMayChange) {
  std::vector<LatencySample> samples;
  const auto time = [](double n) { return 1e5 + (n < 64 ? 3000 * n : 3000 * 64 + 900 * (n - 64)); };
  for (int64_t n = 1; n <= 512; n = n * 5 / 4 + 1)
    samples.push_back(sampleOf({{"n", n}}, time(static_cast<double>(n))));
  const Result<LatencyModel> model = fitLatency(latencyQuantities({"n"}, ""), samples);
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(model->formula(), HasSubstr("max(0, n - "));
  for (const int64_t n : {5, 40, 90, 300})
    EXPECT_NEAR(model->at({{"n", n}})->ns / time(static_cast<double>(n)), 1, 0.12) << n;
}

TEST(LatencyModel, aLengthTakesAsLongAsTheNextWholeVector) {
  const auto time = [](double batch, double seq) { return 2e4 + 500 * batch * 16 * std::ceil(seq / 16); };
  std::vector<LatencySample> samples;
  for (const int64_t batch : {1, 2, 4})
    for (const int64_t seq : {4, 16, 23, 32, 45, 64, 91, 128})
      samples.push_back(sampleOf({{"batch", batch}, {"seq", seq}},
                                 time(static_cast<double>(batch), static_cast<double>(seq))));
  const Result<LatencyModel> model = fitLatency(kQuantities, samples);
  ASSERT_TRUE(model.ok());
  EXPECT_LT(model->spread, 1.05);
  for (const int64_t seq : {17, 33, 63, 65, 100})
    EXPECT_NEAR(model->at({{"batch", 3}, {"seq", seq}})->ns / time(3, static_cast<double>(seq)), 1, 0.05)
        << seq << " by " << model->formula();
}

// Of sizes that the fit has not seen at least 95 in 100 are inside of its interval, and it is not wide for no
// reason.
TEST(LatencyModel, theIntervalHoldsForOtherSizes) {
  std::mt19937 random(11);
  std::lognormal_distribution<double> noise(0, 0.04);
  const auto time = [](double batch, double seq) {
    return 2e5 + 9000 * batch * seq + 40 * batch * seq * seq;
  };
  int inside = 0, all = 0;
  for (int turn = 0; turn < 10; ++turn) {
    const Result<LatencyModel> model =
        fitLatency(kQuantities, samplesOf([&](double b, double s) { return time(b, s) * noise(random); }));
    ASSERT_TRUE(model.ok());
    EXPECT_LT(model->spread, 1.3);
    for (int64_t seq = 2; seq < 256; seq += 5, ++all) {
      const std::optional<Latency> at = model->at({{"batch", 2}, {"seq", seq}});
      const double measured = time(2, static_cast<double>(seq)) * noise(random);
      inside += measured >= at->lowNs && measured <= at->highNs;
    }
  }
  EXPECT_GE(inside, all * 95 / 100);
}

TEST(LatencyModel, saysWhatIsOutsideOfTheMeasuredSizes) {
  const Result<LatencyModel> model =
      fitLatency(kQuantities, samplesOf([](double b, double s) { return 1e4 * b * s; }));
  EXPECT_EQ(model->at({{"batch", 1}, {"seq", 300}})->outside, "seq = 300 is above 256, the largest measured");
  EXPECT_EQ(model->at({{"batch", 0}, {"seq", 3}})->outside, "batch = 0 is below 1, the least measured");
  EXPECT_FALSE(model->at({{"batch", 1}}));
}

TEST(LatencyModel, needsSizes) {
  std::vector<LatencySample> samples;
  for (int turn = 0; turn < 20; ++turn) samples.push_back(sampleOf({{"n", 1 + turn % 3}}, 1000));
  const Result<LatencyModel> model = fitLatency({"n"}, samples);
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message, HasSubstr("6 sizes or more, not at 3"));
}

TEST(LatencyModel, ofSeveralMeasurementsTheShorterCounts) {
  std::vector<LatencySample> samples;
  for (int64_t n = 1; n <= 8; ++n) samples.push_back(sampleOf({{"n", n}}, 1000.0 * static_cast<double>(n)));
  samples.push_back(sampleOf({{"n", 4}}, 90000));
  const Result<LatencyModel> model = fitLatency({"n"}, samples);
  EXPECT_EQ(model->samples.size(), 8u);
  EXPECT_NEAR(model->at({{"n", 4}})->ns, 4000, 100);
}

TEST(LatencySizes, beginWithTheEndsAndFillTheRange) {
  LatencySizes sizes({{"batch", 1, 4, 1}, {"seq", 8, 512, 8}});
  std::vector<DimValues> asked;
  while (asked.size() < 24) {
    const std::optional<DimValues> next = sizes.next(nullptr);
    ASSERT_TRUE(next);
    asked.push_back(*next);
    EXPECT_EQ(next->at("seq") % 8, 0);
    EXPECT_TRUE(next->at("batch") >= 1 && next->at("batch") <= 4);
  }
  EXPECT_EQ(asked[0], (DimValues{{"batch", 1}, {"seq", 8}}));
  EXPECT_EQ(asked[3], (DimValues{{"batch", 4}, {"seq", 512}}));
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(std::unique(asked.begin(), asked.end()), asked.end());
  for (int64_t low = 8; low < 512; low *= 2)
    EXPECT_TRUE(std::any_of(asked.begin(), asked.end(), [&](const DimValues& one) {
      return one.at("seq") >= low && one.at("seq") <= 2 * low;
    })) << low;
}

TEST(LatencySizes, end) {
  LatencySizes sizes({{"n", 3, 5, 1}});
  std::vector<int64_t> asked;
  while (const std::optional<DimValues> next = sizes.next(nullptr)) asked.push_back(next->at("n"));
  EXPECT_THAT(asked, testing::UnorderedElementsAre(3, 4, 5));
}

TEST(LatencySizes, goToMultiplesWhereOthersAreRefused) {
  LatencySizes sizes({{"batch", 1, 4, 1}, {"h", 33, 300, 1}, {"w", 33, 300, 1}});
  const DimValues first = *sizes.next(nullptr);
  const std::vector<LatencySizes::Coarser> trials = sizes.coarser(first);
  const auto trial = std::find_if(trials.begin(), trials.end(), [](const LatencySizes::Coarser& one) {
    return one.dims.at("h") % 32 == 0 && one.dims.at("w") % 32 == 0;
  });
  ASSERT_NE(trial, trials.end());
  EXPECT_EQ(trial->dims, (DimValues{{"batch", 1}, {"h", 64}, {"w", 64}}));
  sizes.take(*trial);
  int count = 0;
  while (const std::optional<DimValues> next = sizes.next(nullptr)) {
    EXPECT_TRUE(next->at("h") % 32 == 0 && next->at("w") % 32 == 0 && next->at("h") <= 300);
    ++count;
  }
  EXPECT_GT(count, 50);
}

// Where the formula errs, more is measured.
TEST(LatencySizes, goWhereTheFormulaErrs) {
  LatencyModel model;
  LatencySizes sizes({{"n", 1, 4096, 1}});
  for (int turn = 0; turn < 8; ++turn) {
    const DimValues next = *sizes.next(nullptr);
    model.samples.push_back(sampleOf(next, 1000));
    model.leftOut.push_back(next.at("n") > 1000 ? 2500 : 1000);
  }
  int large = 0;
  for (int turn = 0; turn < 4; ++turn) large += sizes.next(&model)->at("n") > 700;
  EXPECT_GE(large, 3);
}

}  // namespace
}  // namespace dyn
