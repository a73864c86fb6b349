// What a run takes, told before it runs: the peak of every sample model at many shapes, and the sizes that
// stay within a limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/answers/limit_view.h"
#include "app/session/views/memory_views.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

std::string sampleModel(const std::string& name) {
  return dyn::test::sourceFolder() + "/samples/models/" + name + "/model.onnx";
}

struct SampleModel {
  const char* name;
  std::vector<std::pair<const char*, int>> largest;  // of each dim
  const char* whyUnknown = nullptr;                  // what the memory depends on besides the dims
};

// early_exit stops when its values say so, ssd keeps the boxes whose scores say so, switch sends tokens where
// its gate says.
const SampleModel kSampleModels[] = {
    {"bert", {{"batch", 5}, {"seq", 97}}},
    {"bert_new", {{"batch", 5}, {"seq", 97}}},
    {"early_exit", {{"seq", 97}}, "holds"},
    {"encoder", {{"batch", 5}, {"seq", 97}}},
    {"espcn", {{"batch", 3}, {"h", 67}, {"w", 71}}},
    {"gpt2", {{"batch", 4}, {"seq", 23}, {"past", 61}}},
    {"gru", {{"seq", 97}, {"batch", 7}}},
    {"lstm", {{"seq", 97}, {"batch", 7}}},
    {"lstm_loop", {{"seq", 61}, {"batch", 7}}},
    {"ssd", {{"h", 97}, {"w", 101}}, "holds"},
    {"switch", {{"tokens", 97}}, "holds"},
};

// Loads a sample; false where this build cannot read it or generates no code.
class SampleSession : public test::SessionFixture {
 protected:
  bool loadSample(const std::string& name) {
    if (!canRun()) return false;
    auto loaded = line(":load " + sampleModel(name));
    if (!loaded->ok() && loaded->error->id == DiagnosticId::unsupportedFeature) return false;
    EXPECT_TRUE(loaded->ok()) << loaded->error->toString();
    return loaded->ok();
  }
};

class SamplePeak : public SampleSession, public testing::WithParamInterface<SampleModel> {};

TEST_P(SamplePeak, M21_PredictedIsMeasuredAtFiftyShapes) {
  const SampleModel& model = GetParam();
  if (!loadSample(model.name)) GTEST_SKIP() << "this build reads no ONNX files, or runs nothing";
  std::mt19937 random(7);
  for (int shape = 0; shape < 50; ++shape) {
    std::string command = ":run";
    for (const auto& [dim, most] : model.largest)  // image sizes below 32 leave nothing for the last layers
      command += std::string(" --dim ") + dim + "=" +
                 std::to_string(std::uniform_int_distribution<int>(dim[0] == 'h' || dim[0] == 'w' ? 32 : 1,
                                                                   most)(random));
    if (std::string(model.name) == "encoder") command += " --input lengths=ones";
    auto outcome = line(command);
    ASSERT_TRUE(outcome->ok()) << command << ": " << outcome->error->toString();
    const RunResult* result = outcome->as<RunResult>();
    if (model.whyUnknown) {
      EXPECT_FALSE(result->predictedPeakBytes) << command;
      EXPECT_THAT(result->whyNoPrediction, HasSubstr(model.whyUnknown)) << command;
      continue;
    }
    ASSERT_TRUE(result->predictedPeakBytes) << command << ": " << result->whyNoPrediction;
    EXPECT_EQ(*result->predictedPeakBytes, result->peakBytes) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, SamplePeak, testing::ValuesIn(kSampleModels),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(SampleSession, TheLargestSizeStaysWithinAndTheNextDoesNot) {
  if (!loadSample("encoder")) GTEST_SKIP() << "this build reads no ONNX files, or runs nothing";
  auto outcome = line(":limit 3MB");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const LimitView* view = outcome->as<LimitView>();
  ASSERT_EQ(view->rows.size(), 2u);
  for (const LimitRow& row : view->rows) {
    ASSERT_TRUE(row.largest) << row.end;
    auto peakAt = [&](int64_t size) {  // where no sequence is padded, which is the most
      std::map<std::string, int64_t> sizes(row.others.begin(), row.others.end());
      sizes[row.symbol] = size;
      std::string command = ":run --repeat 2 --lengths lengths=";
      for (int64_t i = 0; i < sizes["batch"]; ++i) command += (i ? "," : "") + std::to_string(sizes["seq"]);
      auto run = line(command);
      return run->ok() ? run->as<RunResult>()->peakBytes : -1;
    };
    EXPECT_EQ(peakAt(*row.largest), *row.peakBytes) << row.symbol;
    EXPECT_LE(*row.peakBytes, view->limitBytes);
    EXPECT_GT(peakAt(*row.largest + 1), view->limitBytes) << row.symbol;
  }
}

TEST_F(SampleSession, SaysWhatElseEndsASize) {
  if (!loadSample("bert")) GTEST_SKIP() << "this build reads no ONNX files, or runs nothing";
  auto outcome = line(":limit 1GB --dim batch=1");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const LimitRow& row = outcome->as<LimitView>()->rows.at(0);
  EXPECT_EQ(row.largest, 512);  // as many positions as the model has
  EXPECT_EQ(row.end, "seq is at most 512");
}

TEST_F(SampleSession, ARunThatNeedsMoreIsNotBegun) {
  if (!loadSample("bert")) GTEST_SKIP() << "this build reads no ONNX files, or runs nothing";
  ASSERT_TRUE(line(":set mem-limit 1MB")->ok());
  EXPECT_TRUE(line(":run --dim batch=1 --dim seq=8")->ok());
  auto outcome = line(":run --dim batch=64 --dim seq=128");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->error->id, DiagnosticId::memoryLimit);
  EXPECT_THAT(outcome->error->message, HasSubstr("with batch = 64, seq = 128, the limit is 1048576"));
  EXPECT_TRUE(line(":run --dim batch=1 --dim seq=8")->ok()) << "the session goes on";
}

class MemoryLimit : public test::SessionFixture {};

TEST_F(MemoryLimit, M22_TheModelIsCompiledAnewWhereMakingValuesAgainSuffices) {
  if (!canRun()) GTEST_SKIP() << "this build generates no code";
  const char text[] =
      "fn @main(%x: Tensor[(1, m), f32], %w: Tensor[(8, n), f32], %p: Tensor[(n, 8), f32], %u: Tensor[(m, "
      "n), "
      "f32]) {\n %rows = shape(%w) {start = 1} %one = constant() {value = i64[1] [1]}\n"
      " %to = concat(%rows, %one) {axis = 0} %b = expand(%x, %to) %e = tanh(%b)\n"
      " %early = matmul(%w, %e) %middle = matmul(%p, %early) %less = matmul(%w, %middle)\n"
      " %mixed = matmul(%less, %u) %late = matmul(%mixed, %e) return %late\n}";
  ASSERT_TRUE(loadText(text)->ok());
  auto run = [&](const std::string& dims) { return line(":run " + dims); };
  const std::string large = "--dim n=1000 --dim m=500";
  auto whole = run(large);
  ASSERT_TRUE(whole->ok());
  const int64_t peak = whole->as<RunResult>()->peakBytes;
  ASSERT_TRUE(line(":set mem-limit " + std::to_string(peak * 3 / 4))->ok());
  auto small = run(large);
  ASSERT_TRUE(small->ok()) << small->error->toString();
  EXPECT_LT(small->as<RunResult>()->peakBytes, peak * 3 / 4);
  EXPECT_EQ(small->as<RunResult>()->predictedPeakBytes, small->as<RunResult>()->peakBytes);
  EXPECT_TRUE(small->as<RunResult>()->outputs[0].value.identical(whole->as<RunResult>()->outputs[0].value));
  EXPECT_TRUE(run("--dim n=10 --dim m=5")->ok()) << "as before, within the limit";
  EXPECT_TRUE(run("--dim n=900 --dim m=500")->ok()) << "what was made for other dims";
  auto refused = run("--dim n=4000 --dim m=2000");
  ASSERT_FALSE(refused->ok());
  EXPECT_EQ(refused->error->id, DiagnosticId::memoryLimit);
  EXPECT_THAT(refused->error->toString(), HasSubstr("made again instead of kept it would need"));
  ASSERT_TRUE(line(":set passes -rematerialise")->ok());
  EXPECT_EQ(run(large)->error->id, DiagnosticId::memoryLimit);
}

// A peak that the test makes up.
LimitSymbol symbolCalled(const std::string& name) { return {name, std::nullopt, std::nullopt, 1, {}}; }

TEST(LimitView, KeepsToRangesAndMultiples) {
  LimitSymbol n = symbolCalled("n");
  n.low = 8;
  n.multiple = 8;
  const CostOfDims linear = [](const DimValues& dims) -> Result<int64_t> { return dims.at("n") * 10; };
  EXPECT_EQ(limitView({n}, {}, {LimitUnit::bytes, 999}, linear)->rows[0].largest, 96);
  n.high = 40;
  Result<LimitView> ended = limitView({n}, {}, {LimitUnit::bytes, 999}, linear);
  EXPECT_EQ(ended->rows[0].largest, 40);
  EXPECT_THAT(ended->rows[0].end, HasSubstr("at most 40"));
  EXPECT_EQ(limitView({n}, {}, {LimitUnit::bytes, 79}, linear).error().id, DiagnosticId::memoryLimit);
  EXPECT_THAT(limitView({n}, {}, {LimitUnit::bytes, 79}, linear).error().message,
              testing::HasSubstr("bytes: even n = 8 takes 80 bytes"));
}

TEST(LimitView, TheOtherDimsHaveTheirLikeliestValue) {
  LimitSymbol n = symbolCalled("n"), m = symbolCalled("m");
  m.likely = {7, 3};
  const CostOfDims product = [](const DimValues& dims) -> Result<int64_t> {
    return dims.at("n") * dims.at("m");
  };
  Result<LimitView> view = limitView({n, m}, {}, {LimitUnit::bytes, 1000}, product);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->rows[0].largest, 142);
  EXPECT_EQ(view->rows[0].others, (DimValues{{"m", 7}}));
  EXPECT_EQ(view->rows[1].largest, 1000);
  EXPECT_EQ(limitView({n, m}, {{"n", 1}, {"m", 1}}, {LimitUnit::bytes, 1000}, product).error().id,
            DiagnosticId::usageError);
}

// A model that takes multiples of 32 alone, as networks that halve an image and put it together again, and
// says so only when it is run.
TEST(LimitView, SizesThatCanNotBeRunAreSkipped) {
  const CostOfDims image = [](const DimValues& dims) -> Result<int64_t> {
    for (const char* side : {"h", "w"})
      if (dims.at(side) % 32 != 0 || dims.at(side) == 0)
        return makeError(DiagnosticId::shapeCheckFailed, "the sides are multiples of 32");
    return dims.at("h") * dims.at("w");
  };
  Result<LimitView> view =
      limitView({symbolCalled("h"), symbolCalled("w")}, {}, {LimitUnit::bytes, 10000}, image);
  ASSERT_TRUE(view.ok()) << view.error().toString();
  EXPECT_EQ(view->rows[0].others, (DimValues{{"w", 32}}));
  EXPECT_EQ(view->rows[0].largest, 288);
  EXPECT_THAT(view->rows[0].end, HasSubstr("h = 320 would take 10240 bytes"));
}

TEST(LimitView, AMemoryThatDependsOnValuesIsSaidToDo) {
  const CostOfDims unknown = [](const DimValues&) -> Result<int64_t> {
    return makeError(DiagnosticId::unsupportedFeature, "the memory depends on what x holds");
  };
  Result<LimitView> view = limitView({symbolCalled("n")}, {}, {LimitUnit::bytes, 1000}, unknown);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().id, DiagnosticId::unsupportedFeature);
}

}  // namespace
}  // namespace dyn
