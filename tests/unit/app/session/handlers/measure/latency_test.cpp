// The time of a run as a formula: measured, read back, and asked for a limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/session/records/latency_runs.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view_json.h"
#include "app/session/views/view_text.h"
#include "compiler/support/mapped_file.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

constexpr const char* kRowsTimesMatrix = R"(fn @main(%x: Tensor[(b, n, 32), f32], %w: Tensor[(32, 32), f32]) {
  %y = matmul(%x, %w)
  return %y
}
)";

class LatencyTest : public test::SessionFixture {
 protected:
  void SetUp() override {
    if (!canRun()) GTEST_SKIP() << "this build generates no code";
    ASSERT_TRUE(loadText(kRowsTimesMatrix)->ok());
  }
  std::string error(const std::string& text) {
    const auto outcome = line(text);
    return outcome->ok() ? "" : outcome->error->toString();
  }
  // A file of runs whose times are 100 us and 1 us for each row.
  std::string writtenRuns() {
    EXPECT_TRUE(
        line(":latency --dim b=1..4 --dim n=1..100 --seconds 0.05 -o " + (folder_ / "runs.json"))->ok());
    nlohmann::json document = nlohmann::json::parse(readText((folder_ / "runs.json")));
    for (nlohmann::json& run : document["runs"])
      run["median_ns"] = 100'000 + 1000 * run["dims"]["b"].get<int64_t>() * run["dims"]["n"].get<int64_t>();
    return folder_.write("made.json", document.dump());
  }
  std::string readText(const std::string& path) {
    Result<MappedFile> file = MappedFile::open(path);
    EXPECT_TRUE(file.ok());
    return std::string(file->bytes());
  }
};

// The passes have not run when `latency` asks what the time may depend on.
TEST(LatencyQuantities, HaveTheArithmeticOfAModelThatWasOnlyRead) {
  Result<std::unique_ptr<LoadedModel>> model = LoadedModel::fromText(
      "fn @main(%x: Tensor[(n, n), f32]) { %y = matmul(%x, %x) return %y }", "m.dyn", {}, nullptr);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(latencyQuantitiesOf(**model, {"n"}), (std::vector<std::string>{"n", "2*n*n*n"}));
}

TEST_F(LatencyTest, MeasuresSizesAndMakesAFormula) {
  const auto outcome = line(":latency --dim b=2 --dim n=1..200 --seconds 0.1");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const auto* view = outcome->as<LatencyView>();
  ASSERT_TRUE(view);
  EXPECT_GE(view->rows.size(), 8u);
  for (const LatencyRow& row : view->rows) {
    EXPECT_EQ(row.dims.at("b"), 2);
    EXPECT_TRUE(row.dims.at("n") >= 1 && row.dims.at("n") <= 200);
    EXPECT_GT(row.measuredNs, 0);
  }
  EXPECT_GE(view->spread, 1);
  EXPECT_THAT(toText(outcome->view, {}), HasSubstr("time = "));
  EXPECT_GE(line(":runs")->as<RunList>()->rows.size(), view->rows.size());  // they are runs like others
  // Both ends are among the sizes.
  const auto has = [&](int64_t n) {
    return std::any_of(view->rows.begin(), view->rows.end(),
                       [&](const LatencyRow& row) { return row.dims.at("n") == n; });
  };
  EXPECT_TRUE(has(1) && has(200));
}

// Of m = 2*n one has to be given; the runs of a file have both.
TEST_F(LatencyTest, DimsThatFollowFromOthersAreNotAsked) {
  constexpr const char* kPairs =
      "fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32]) {\n"
      "  %s = concat(%a, %a) {axis = 0}\n  %t = add(%s, %b)\n  return %t\n}\n";
  ASSERT_TRUE(loadText(kPairs, "--dim m=2*n")->ok());
  const std::string file = folder_ / "pairs.json";
  const auto outcome = line(":latency --dim n=1..400 --seconds 0.05 -o " + file);
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  EXPECT_TRUE(outcome->as<LatencyView>()->refused.empty());
  for (const LatencyRow& row : outcome->as<LatencyView>()->rows) EXPECT_EQ(row.dims.count("m"), 0u);
  const auto read = line(":latency --runs " + file);
  ASSERT_TRUE(read->ok()) << read->error->toString();
  EXPECT_THAT(readText(file), HasSubstr("\"m\":"));
  EXPECT_TRUE(line(":predict --dim m=80 --runs " + file)->as<PredictView>()->byRuns);
  const auto backward = line(":latency --dim m=2..800 --seconds 0.05");
  ASSERT_TRUE(backward->ok()) << backward->error->toString();
  for (const LatencyRow& row : backward->as<LatencyView>()->rows) EXPECT_EQ(row.dims.at("m") % 2, 0);
  EXPECT_THAT(error(":latency --dim n=1..400 --dim m=2..800"),
              testing::AllOf(HasSubstr("m = 2*n (user: --dim m=2*n)"), HasSubstr("leave it out")));
  const auto limit = line(":limit 10s --runs " + file);
  ASSERT_TRUE(limit->ok()) << limit->error->toString();
  EXPECT_EQ(limit->as<LimitView>()->rows.size(), 1u);
}

TEST_F(LatencyTest, AnswersLimitsAndPredictionsByTheRunsOfAFile) {
  const std::string file = writtenRuns();
  const auto formula = line(":latency --runs " + file);
  ASSERT_TRUE(formula->ok()) << formula->error->message;
  EXPECT_LT(formula->as<LatencyView>()->spread, 1.02);
  const auto limit = line(":limit 150us --dim b=2 --runs " + file);
  ASSERT_TRUE(limit->ok()) << limit->error->message;
  const auto* view = limit->as<LimitView>();
  ASSERT_EQ(view->rows.size(), 1u);
  EXPECT_EQ(view->rows[0].symbol, "n");
  // 100 + 2 n <= 150, less the interval's part.
  EXPECT_LE(*view->rows[0].largest, 25);
  EXPECT_GE(*view->rows[0].largest, 22);
  EXPECT_LE(*view->rows[0].timeNs, 150'000);
  EXPECT_THAT(view->rows[0].end, HasSubstr("would take"));
  EXPECT_THAT(toText(limit->view, {}), HasSubstr("within 150.0 us, by measured runs: "));
  // Beyond the sizes that were measured nothing is promised.
  const auto wide = line(":limit 1s --dim b=2 --runs " + file);
  ASSERT_TRUE(wide->ok()) << wide->error->message;
  EXPECT_EQ(wide->as<LimitView>()->rows[0].largest, 100);
  EXPECT_EQ(wide->as<LimitView>()->rows[0].end, "100 is the largest n that was measured");
  const auto prediction = line(":predict --dim b=2 --dim n=50 --runs " + file);
  ASSERT_TRUE(prediction->ok()) << prediction->error->message;
  const auto& byRuns = prediction->as<PredictView>()->byRuns;
  ASSERT_TRUE(byRuns);
  EXPECT_NEAR(static_cast<double>(byRuns->ns), 200'000, 4000);
  EXPECT_TRUE(byRuns->lowNs < byRuns->ns && byRuns->ns < byRuns->highNs);
}

TEST_F(LatencyTest, RunsOfTheSessionCount) {
  EXPECT_THAT(error(":limit 20ms --dim b=1"),
              HasSubstr("latency --dim seq=1..512 measures sizes of this range"));
  EXPECT_FALSE(line(":predict --dim b=1 --dim n=4")->as<PredictView>()->byRuns);
  ASSERT_TRUE(line(":latency --dim b=1 --dim n=1..64 --seconds 0.05")->ok());
  EXPECT_TRUE(line(":limit 20ms --dim b=1")->ok());
  EXPECT_TRUE(line(":predict --dim b=1 --dim n=4")->as<PredictView>()->byRuns);
  // Another program takes other times.
  ASSERT_TRUE(line(":set passes -fuse")->ok());
  EXPECT_FALSE(line(":limit 20ms --dim b=1")->ok());
}

// A package does not say what its kernels do; its runs say how long they take.
TEST_F(LatencyTest, OfAPackage) {
  const std::string package = folder_ / "m.dynpkg";
  ASSERT_TRUE(line(":compile -o " + package)->ok());
  ASSERT_TRUE(line(":load " + package)->ok());
  EXPECT_THAT(error(":predict --dim b=1 --dim n=4"), HasSubstr("latency measures it at some sizes"));
  ASSERT_TRUE(line(":latency --dim b=1 --dim n=1..64 --seconds 0.05")->ok());
  const auto prediction = line(":predict --dim b=1 --dim n=4");
  ASSERT_TRUE(prediction->ok()) << prediction->error->message;
  EXPECT_TRUE(prediction->as<PredictView>()->byRuns);
  EXPECT_GT(prediction->as<PredictView>()->peakBytes, 0);
  EXPECT_THAT(toText(prediction->view, {}), HasSubstr("by runs at "));
  EXPECT_TRUE(line(":limit 20ms --dim b=1")->ok());
}

// The memory of a size that values decide is not known before the run; the time is by runs all the same.
TEST_F(LatencyTest, WhereTheMemoryDependsOnValues) {
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(n), f32]) { %i = nonzero(%x) %y = cast(%i) {to = f32} "
                       "%z = add(%y, %y) return %z }")
                  ->ok());
  EXPECT_THAT(error(":predict --dim n=4"), HasSubstr("latency measures it at some sizes"));
  ASSERT_TRUE(line(":latency --dim n=1..64 --seconds 0.05")->ok());
  const auto prediction = line(":predict --dim n=4");
  ASSERT_TRUE(prediction->ok()) << prediction->error->message;
  EXPECT_TRUE(prediction->as<PredictView>()->byRuns);
  EXPECT_THAT(toText(prediction->view, {}), HasSubstr("the peak is not known: "));
  EXPECT_TRUE(line(":limit 20ms")->ok());
}

TEST_F(LatencyTest, BadQuestions) {
  EXPECT_THAT(error(":latency --dim n=1..9"), HasSubstr("the range of b is not known"));
  EXPECT_THAT(error(":latency --dim b=1 --dim n=3"), HasSubstr("every dim has one value"));
  EXPECT_THAT(error(":latency --dim b=1 --dim n=9..3"), HasSubstr("9..3"));
  EXPECT_THAT(error(":latency --dim b=1 --dim m=1..3"), HasSubstr("the model has no dim 'm'"));
  EXPECT_THAT(error(":latency --dim b=1 --dim n=1..9 --seconds 0"), HasSubstr("--seconds"));
  EXPECT_THAT(error(":limit 20parsecs"), HasSubstr("a limit of time is written 20ms"));
  EXPECT_THAT(error(":limit 0ms"), HasSubstr("a limit of time is written 20ms"));
  EXPECT_THAT(error(":limit 1MB --runs x.json"), HasSubstr("--runs is for a limit of time"));
  EXPECT_THAT(error(":latency --runs x.json --seconds 1"), HasSubstr("--seconds is one too many"));
  EXPECT_THAT(error(":latency --runs " + folder_.write("bad.json", "{}")), HasSubstr("bad.json"));
  EXPECT_THAT(error(":limit 1ms --runs " + (folder_ / "gone.json")), HasSubstr("gone.json"));
}

// Of a file with runs of other models those do not count.
TEST_F(LatencyTest, RunsOfOtherModelsDoNotCount) {
  const std::string file = writtenRuns();
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(b, n), f32]) { %y = exp(%x) return %y }")->ok());
  EXPECT_THAT(error(":latency --runs " + file), HasSubstr("no run of this model"));
}

// Sizes that the model does not take are named, and the others measured.
TEST_F(LatencyTest, SizesThatTheModelDoesNotTake) {
  ASSERT_TRUE(loadText(R"(fn @main(%x: Tensor[(n), f32]) {
    %s = constant() {value = i64[2] [-1, 2]}
    %y = reshape(%x, %s)
    return %y
  })")
                  ->ok());
  const auto outcome = line(":latency --dim n=2..65 --seconds 0.05");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const auto* view = outcome->as<LatencyView>();
  EXPECT_GE(view->rows.size(), 8u);
  for (const LatencyRow& row : view->rows) EXPECT_EQ(row.dims.at("n") % 2, 0);
  ASSERT_FALSE(view->refused.empty());
  for (const RefusedSize& size : view->refused) EXPECT_EQ(size.dims.at("n") % 2, 1);
}

}  // namespace
}  // namespace dyn
