// --lengths NAME=...: the inputs and sizes that lengths make, and what a run, :predict, :plan and :limit make
// of them.
#include <gmock/gmock.h>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/bench_views.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/predict_views.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

// A layer of attention of whose result the first position is shown; wide enough for memory to count.
std::string model(const std::string& masked) {
  return R"(fn @main(%x: Tensor[(b, s, 64), f32], )" + masked + R"(
  %split = constant() {value = i64[4] [0, 0, 4, 16]}
  %join = constant() {value = i64[3] [0, 0, 64]}
  %q = transpose(reshape(matmul(%x, %w), %split)) {perm = [0, 2, 1, 3]}
  %k = transpose(reshape(matmul(%x, %w), %split)) {perm = [0, 2, 3, 1]}
  %v = transpose(reshape(matmul(%x, %w), %split)) {perm = [0, 2, 1, 3]}
  %p = softmax(where(%keep, matmul(%q, %k), f32[] -1.0e9)) {axis = -1}
  %z = reshape(transpose(matmul(%p, %v)) {perm = [0, 2, 1, 3]}, %join)
  %y = gather(relu(matmul(relu(matmul(%z, %w)), %w)), i64[] 0) {axis = 1}
  return %y
}
)";
}
const std::string kMasked = model(R"(%mask: Tensor[(b, s), bool], %w: Tensor[(64, 64), f32]) {
  %keep = unsqueeze(%mask, i64[2] [1, 2])
)");
const std::string kByLengths = model(R"(%lengths: Tensor[(b), i64], %w: Tensor[(64, 64), f32]) {
  %range = unsqueeze(range(i64[] 0, gather(shape(%x), i64[] 1), i64[] 1), i64[1] [0])
  %keep = unsqueeze(less(%range, unsqueeze(%lengths, i64[1] [1])), i64[2] [1, 2])
)");

class Lengths : public test::SessionFixture {
 protected:
  const RunResult& run(const std::string& arguments) {
    outcome_ = line(":run " + arguments);
    EXPECT_TRUE(outcome_->ok()) << outcome_->error->message;
    return *outcome_->as<RunResult>();
  }
  int64_t planned(const std::string& arguments) {
    outcome_ = line(":plan " + arguments);
    EXPECT_TRUE(outcome_->ok()) << outcome_->error->message;
    return outcome_->as<PlanView>()->predictedPeakBytes.value_or(-1);
  }
  std::shared_ptr<const Outcome> outcome_;
};

TEST_F(Lengths, MakeTheMaskAndTheSizes) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMasked)->ok());
  const RunResult& result = run("--lengths mask=3,0,5");
  EXPECT_THAT(result.dims, testing::ElementsAre(testing::Pair("b", 3), testing::Pair("s", 5)));
  const HostTensor& mask = result.inputs[1].value.tensor();
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < mask.elementCount(); ++i) elements.push_back(mask.intAt(i));
  EXPECT_THAT(elements, testing::ElementsAre(1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1));
  // Of the sequence without any position all are computed, as its softmax is over all of it.
  EXPECT_EQ(result.keptPositions, 3 + 5 + 5);
}

TEST_F(Lengths, OfAnInputOfLengths) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kByLengths)->ok());
  const RunResult& result = run("--lengths lengths=@" + folder_.write("lengths.txt", "4\n1\n7\n"));
  EXPECT_THAT(result.dims, testing::ElementsAre(testing::Pair("b", 3), testing::Pair("s", 7)));
  EXPECT_EQ(result.keptPositions, 12);
  EXPECT_EQ(run("--lengths lengths=4,1,7 --dim s=9 --dim b=2").keptPositions, 5);
}

TEST_F(Lengths, MemoryFollowsFromTheirSum) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMasked)->ok());
  const std::string few = "--lengths mask=9,200,8,10,7,9", all = "--lengths mask=200,200,200,200,200,200";
  for (const std::string& lengths : {few, all}) {
    const RunResult& result = run(lengths);
    ASSERT_TRUE(result.predictedPeakBytes.has_value()) << result.whyNoPrediction;
    EXPECT_EQ(*result.predictedPeakBytes, result.peakBytes) << lengths;
  }
  const int64_t most = planned("--dim b=6 --dim s=200");
  EXPECT_EQ(planned(all), most);
  EXPECT_LT(2 * planned(few), most);
  const int64_t repeated = run(few + " --repeat 2").peakBytes;
  EXPECT_EQ(planned(few), repeated);
  outcome_ = line(":predict " + few);
  ASSERT_TRUE(outcome_->ok()) << outcome_->error->message;
  const auto predicted = outcome_->as<PredictView>()->peakBytes;
  EXPECT_EQ(predicted, planned(few));
}

TEST_F(Lengths, DecideWhatFitsALimit) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMasked)->ok());
  const int64_t room = planned("--lengths mask=9,200,8,10,7,9") * 5 / 4;
  ASSERT_TRUE(line(":set mem-limit " + std::to_string(room))->ok());
  EXPECT_TRUE(line(":run --lengths mask=9,200,8,10,7,9")->ok());
  outcome_ = line(":run --lengths mask=200,200,200,200,200,200");
  ASSERT_FALSE(outcome_->ok());
  EXPECT_EQ(outcome_->error->id, DiagnosticId::memoryLimit);
}

TEST_F(Lengths, BenchTakesBatchAfterBatch) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kMasked)->ok());
  outcome_ = line(":bench --lengths mask=3,1,5,2,9 --dim b=2 --seconds 0.01 --repeat 1");
  ASSERT_TRUE(outcome_->ok()) << outcome_->error->message;
  const BenchResult& bench = *outcome_->as<BenchResult>();
  ASSERT_EQ(bench.rows.size(), 2u);
  EXPECT_EQ(bench.rows[0].dims.at("s"), 3);
  EXPECT_EQ(bench.rows[1].dims.at("s"), 5);
}

TEST_F(Lengths, WhatDoesNotFitIsSaid) {
  ASSERT_TRUE(loadText(kMasked)->ok());
  const auto fault = [&](const std::string& arguments) {
    const auto outcome = line(":run " + arguments);
    return outcome->ok() ? std::string() : outcome->error->message;
  };
  EXPECT_FALSE(parseCommand(":run --lengths mask").ok());
  EXPECT_THAT(fault("--lengths mask=3,x"), HasSubstr("'x' is not a length"));
  EXPECT_THAT(fault("--lengths nask=3"), HasSubstr("the model has no input 'nask'"));
  EXPECT_THAT(fault("--lengths x=3"), HasSubstr("neither lengths [batch] nor a mask [batch, sequence]"));
  EXPECT_THAT(fault("--lengths mask=3,4 --dim b=3"), HasSubstr("there are 2 lengths for a batch of 3"));
  EXPECT_THAT(fault("--lengths mask=3,4 --dim s=3"), HasSubstr("a length is 4, the sequence 3"));
  EXPECT_THAT(fault("--lengths mask=3,4 --input mask=ones"), HasSubstr("input mask is given twice"));
}

}  // namespace
}  // namespace dyn
