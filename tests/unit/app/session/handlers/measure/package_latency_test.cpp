// The formula of the time in a package: put in by a file of runs, shown, and asked for limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/engine/model/loaded_model.h"
#include "app/session/explain/machine_limits.h"
#include "app/session/session_state.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/view_json.h"
#include "app/session/views/view_text.h"
#include "compiler/export/package.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPackagedProduct = R"(fn @main(%x: Tensor[(b, n, 32), f32], %w: Tensor[(32, 32), f32]) {
  %y = matmul(%x, %w)
  return %y
}
)";

class PackageLatencyTest : public test::SessionFixture {
 protected:
  void SetUp() override {
    if (!canRun()) GTEST_SKIP() << "this build generates no code";
    ASSERT_TRUE(loadText(kPackagedProduct)->ok());
  }
  std::string error(const std::string& text) {
    const auto outcome = line(text);
    return outcome->ok() ? "" : outcome->error->toString();
  }
  struct Place {
    std::string machine = processorName(), device = "cpu";
    int threads = 1;
  };
  // Runs that took baseNs and rowNs for each row, b = 1..4 and n = 1..100.
  nlohmann::json runsOf(int64_t baseNs, int64_t rowNs, const Place& place) {
    nlohmann::json runs = nlohmann::json::array();
    for (const int64_t b : {1, 2, 4})
      for (const int64_t n : {1, 10, 40, 100})
        runs.push_back({{"command", "latency"},
                        {"model", std::string(folder_ / "m.dyn")},
                        {"pipeline", ""},
                        {"settings", ""},
                        {"dims", {{"b", b}, {"n", n}}},
                        {"threads_count", place.threads},
                        {"device", place.device},
                        {"machine", place.machine},
                        {"runs_count", 3},
                        {"median_ns", baseNs + rowNs * b * n},
                        {"spread_ns", 1}});
    return runs;
  }
  std::string runsFile(const nlohmann::json& runs) {
    return folder_.write("runs.json", nlohmann::json({{"schema", 1}, {"runs", runs}}).dump());
  }
  // A package with that formula, loaded.
  void loadPackage(int64_t baseNs, int64_t rowNs, const Place& place) {
    const std::string package = folder_ / "m.dynpkg";
    ASSERT_EQ(error(":compile -o " + package + " --runs " + runsFile(runsOf(baseNs, rowNs, place))), "");
    ASSERT_EQ(error(":load " + package), "");
  }
  void loadPackage(int64_t baseNs, int64_t rowNs) { loadPackage(baseNs, rowNs, Place{}); }
  // A package whose metadata has these lines.
  void loadPackageWith(const std::string& lines) {
    const std::string package = folder_ / "m.dynpkg";
    const Status written = session_.visit([&](SessionState& state) -> Status {
      DYN_TRY(LoadedModel * model, state.model());
      DYN_CHECK(model->ensureCompiled());
      PackageRequest request;
      request.latency = lines;
      const Result<ExportedFile> file = writePackageFile(*model->compiled(), package, request);
      return file.ok() ? Status() : Status(Error{file.error()});
    });
    ASSERT_TRUE(written.ok()) << written.error().toString();
    ASSERT_EQ(error(":load " + package), "");
  }
};

TEST_F(PackageLatencyTest, IsShown) {
  loadPackage(100'000, 1000);
  const auto outcome = line(":info");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const std::optional<LatencyInfo>& latency = outcome->as<ModelInfo>()->latency;
  ASSERT_TRUE(latency);
  EXPECT_EQ(latency->formula, "100 us + 1 us*b*n");
  EXPECT_EQ(latency->sizesCount, 12);
  EXPECT_EQ(latency->runsCount, 36);
  EXPECT_EQ(latency->measured.at("n"), (std::pair<int64_t, int64_t>(1, 100)));
  EXPECT_EQ(latency->threads, 1);
  EXPECT_TRUE(latency->elsewhere.empty());
  EXPECT_THAT(toText(outcome->view, {}), AllOf(HasSubstr("time = 100 us + 1 us*b*n"), HasSubstr("b = 1..4")));
  const auto json = toJson(outcome->view);
  EXPECT_EQ(json["latency"]["formula"], "100 us + 1 us*b*n");
  EXPECT_EQ(json["latency"]["machine"], processorName());
  EXPECT_EQ(json["latency"]["measured"]["b"][1], 4);
}

TEST_F(PackageLatencyTest, AnswersLimitsAndPredictions) {
  loadPackage(100'000, 1000);
  const auto limit = line(":limit 150us --dim b=2");
  ASSERT_TRUE(limit->ok()) << limit->error->toString();
  const auto* view = limit->as<LimitView>();
  ASSERT_EQ(view->rows.size(), 1u);
  EXPECT_EQ(view->rows[0].largest, 24);  // 100 + 2 n <= 150, less 1 % of the interval
  EXPECT_EQ(view->source, LatencySource::package);
  EXPECT_THAT(toText(limit->view, {}), HasSubstr("within 150.0 us, by the package's formula: "));
  EXPECT_EQ(toJson(limit->view)["limit"]["formula_by"], "package");
  EXPECT_EQ(line(":limit 1s --dim b=2")->as<LimitView>()->rows[0].end,
            "100 is the largest n that was measured");
  EXPECT_EQ(line(":limit 1s --dim b=9")->as<LimitView>()->outside, "b = 9 is above 4, the largest measured");
  const auto prediction = line(":predict --dim b=2 --dim n=50");
  ASSERT_TRUE(prediction->ok()) << prediction->error->toString();
  const auto& byRuns = prediction->as<PredictView>()->byRuns;
  ASSERT_TRUE(byRuns);
  EXPECT_EQ(byRuns->source, LatencySource::package);
  EXPECT_NEAR(static_cast<double>(byRuns->ns), 200'000, 100);
  EXPECT_THAT(toText(prediction->view, {}), HasSubstr("by the package's formula of runs at 12 sizes"));
  EXPECT_THAT(line(":predict --dim b=2 --dim n=500")->as<PredictView>()->byRuns->outside,
              HasSubstr("n = 500 is above 100"));
}

// It is not passed off as this machine's.
TEST_F(PackageLatencyTest, OfAnotherPlace) {
  for (const Place& place : {Place{"another processor"}, Place{processorName(), "cpu", 7}}) {
    ASSERT_TRUE(loadText(kPackagedProduct)->ok());
    loadPackage(100'000, 1000, place);
    const std::string difference = place.threads == 7 ? "threads: 7 and 1" : "another processor";
    const auto info = line(":info");
    ASSERT_TRUE(info->as<ModelInfo>()->latency);
    EXPECT_EQ(info->as<ModelInfo>()->latency->elsewhere.size(), 1u);
    EXPECT_THAT(toText(info->view, {}), AllOf(HasSubstr("time = 100 us"), HasSubstr("does not count here")));
    const std::string why = "the package's formula of the time does not count here";
    EXPECT_THAT(error(":limit 150us --dim b=2"), AllOf(HasSubstr(why), HasSubstr(difference)));
    EXPECT_THAT(error(":predict --dim b=2 --dim n=50"), AllOf(HasSubstr(why), HasSubstr(difference)));
    const auto run = line(":run --dim b=1 --dim n=2 --limit 1000s");
    ASSERT_TRUE(run->ok()) << run->error->toString();
    ASSERT_TRUE(run->as<RunResult>()->timeLimit);
    EXPECT_FALSE(run->as<RunResult>()->timeLimit->predicted);
    EXPECT_THAT(toText(run->view, {}), AllOf(HasSubstr("within the limit"), HasSubstr(difference)));
  }
  // Runs of this session count.
  ASSERT_TRUE(line(":latency --dim b=1 --dim n=1..64 --seconds 0.05")->ok());
  const auto limit = line(":limit 100s --dim b=1");
  ASSERT_TRUE(limit->ok()) << limit->error->toString();
  EXPECT_EQ(limit->as<LimitView>()->source, LatencySource::runs);
}

TEST_F(PackageLatencyTest, RunsBeyondTheLimitAreRefused) {
  loadPackage(1'000'000'000, 1'000'000'000);  // a second, and one for each row
  const auto outcome = line(":run --dim b=2 --dim n=50 --limit 61s");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->error->id, DiagnosticId::timeBeyondLimit);
  EXPECT_EQ(exitCode(outcome->error->id), exitCode(DiagnosticId::memoryLimit));
  EXPECT_THAT(
      outcome->error->toString(),
      AllOf(HasSubstr("would take about 101"), HasSubstr("at least 100.0"), HasSubstr("limit is 61.0"),
            HasSubstr("b = 1 is the largest that stays within the limit, with n=50"),
            HasSubstr("n = 29 is the largest that stays within the limit, with b=2")));
}

TEST_F(PackageLatencyTest, RunsThatTookLongerAreNamed) {
  loadPackage(2, 0);  // of which no run is capable
  const auto outcome = line(":run --dim b=1 --dim n=2 --limit 5ns --repeat 3");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const std::optional<RunTimeLimit>& limit = outcome->as<RunResult>()->timeLimit;
  ASSERT_TRUE(limit && limit->predicted);
  EXPECT_EQ(limit->predicted->by, "package");
  EXPECT_EQ(limit->predicted->ns, 2);
  EXPECT_EQ(limit->beyondCount, 3);
  EXPECT_GT(limit->longestNs, 5);
  EXPECT_THAT(toText(outcome->view, {}),
              AllOf(HasSubstr("took longer than the limit of 5 ns: 3 of 3 runs, the longest "),
                    HasSubstr("predicted by the package's formula: 2 ns")));
  const auto json = toJson(outcome->view)["time_limit"];
  EXPECT_EQ(json["beyond_count"], 3);
  EXPECT_EQ(json["predicted"]["time_ns"], 2);
  EXPECT_TRUE(json["why_not_predicted"].is_null());
  const auto within = line(":run --dim b=1 --dim n=2 --limit 1000s");
  EXPECT_EQ(within->as<RunResult>()->timeLimit->beyondCount, 0);
  EXPECT_THAT(toText(within->view, {}), HasSubstr("within the limit of 1000"));
  EXPECT_THAT(toText(line(":run --dim b=1 --dim n=2")->view, {}), Not(HasSubstr("limit")));
}

// Of a model the file of runs is given with the limit.
TEST_F(PackageLatencyTest, LimitsOfRunsOfAModel) {
  const std::string file = runsFile(runsOf(1'000'000'000, 1'000'000'000, Place{}));
  EXPECT_THAT(error(":run --dim b=2 --dim n=50 --limit 21s --runs " + file),
              HasSubstr("would take about 101"));
  const auto run = line(":run --dim b=2 --dim n=50 --limit 200s --runs " + file);
  ASSERT_TRUE(run->ok()) << run->error->toString();
  EXPECT_EQ(run->as<RunResult>()->timeLimit->predicted->by, "runs");
  EXPECT_THAT(error(":run --dim b=2 --dim n=50 --runs " + file), HasSubstr("--runs goes with --limit"));
  EXPECT_THAT(error(":run --dim b=2 --dim n=50 --limit 20MB"), HasSubstr("is a time, such as 20ms"));
  EXPECT_THAT(error(":run --dim b=2 --dim n=50 --limit 1s --runs " + (folder_ / "gone.json")),
              HasSubstr("gone.json"));
}

TEST_F(PackageLatencyTest, BadRunsAreRefusedBeforeAFileIsWritten) {
  const std::string package = folder_ / "never.dynpkg";
  const auto refused = [&](const std::string& runs) {
    return error(":compile -o " + package + " --runs " + runs);
  };
  EXPECT_THAT(refused(folder_ / "gone.json"), HasSubstr("gone.json"));
  EXPECT_THAT(refused(folder_.write("bad.json", "{}")), HasSubstr("no file of runs"));
  nlohmann::json few = runsOf(1, 1, Place{}), mixed = few, others = few, devices = few;
  few.erase(few.begin() + 3, few.end());
  EXPECT_THAT(refused(runsFile(few)), HasSubstr("at 6 sizes or more, not at 3"));
  for (size_t i = 0; i < mixed.size(); ++i) mixed[i]["machine"] = i % 2 == 0 ? "one" : "other";
  EXPECT_THAT(refused(runsFile(mixed)), HasSubstr("of several machines"));
  for (auto& run : others) run["model"] = "other.onnx";
  EXPECT_THAT(refused(runsFile(others)), HasSubstr("no run of this model"));
  for (auto& run : devices) run["device"] = "cuda";
  EXPECT_THAT(refused(runsFile(devices)), HasSubstr("runs on cuda, and the package is for cpu"));
  nlohmann::json math = runsOf(1, 1, Place{});
  for (auto& run : math) run["settings"] = "math=bf16";
  EXPECT_THAT(refused(runsFile(math)), HasSubstr("other settings"));
  EXPECT_THAT(error(":compile --runs " + runsFile(math)), HasSubstr("--runs is for the package"));
  EXPECT_THAT(error(":export --kind exe -o " + (folder_ / "m") + " --runs " + runsFile(math)),
              HasSubstr("it is of --kind package"));
  EXPECT_FALSE(line(":load " + package)->ok());
  // Runs of several places with some of this one.
  for (size_t i = 0; i < 8; ++i) mixed[i]["machine"] = processorName();
  EXPECT_EQ(refused(runsFile(mixed)), "");
}

// A package's host code is native unless --interpret keeps it as bytecode; runs of that form count.
TEST_F(PackageLatencyTest, RunsOfItsHostCodeCount) {
  nlohmann::json runs = runsOf(100'000, 1000, Place{});
  for (nlohmann::json run : runsOf(50'000, 1000, Place{})) {
    run["settings"] = "host-code=native";
    runs.push_back(std::move(run));
  }
  const std::string file = runsFile(runs), package = folder_ / "h.dynpkg";
  for (const bool native : {true, false}) {
    ASSERT_TRUE(loadText(kPackagedProduct)->ok());
    const std::string form = native ? "" : " --interpret";
    ASSERT_EQ(error(":export --kind package -o " + package + " --runs " + file + form), "");
    ASSERT_EQ(error(":load " + package), "");
    EXPECT_EQ(line(":info")->as<ModelInfo>()->latency->formula,
              native ? "50 us + 1 us*b*n" : "100 us + 1 us*b*n");
  }
}

TEST_F(PackageLatencyTest, ExportsHaveItToo) {
  const std::string package = folder_ / "e.dynpkg";
  ASSERT_EQ(
      error(":export --kind package -o " + package + " --runs " + runsFile(runsOf(100'000, 1000, Place{}))),
      "");
  ASSERT_EQ(error(":load " + package), "");
  EXPECT_EQ(line(":info")->as<ModelInfo>()->latency->formula, "100 us + 1 us*b*n");
}

// Where a dim is a number in the package, runs of other sizes are of another program.
TEST_F(PackageLatencyTest, FixedDims) {
  const std::string package = folder_ / "f.dynpkg";
  nlohmann::json runs = runsOf(100'000, 1000, Place{});
  for (const int64_t n : {20, 60}) {
    runs.push_back(runs[0]);
    runs.back()["dims"] = {{"b", 1}, {"n", n}};
    runs.back()["median_ns"] = 100'000 + 1000 * n;
  }
  ASSERT_EQ(error(":compile -o " + package + " --dim b=1 --runs " + runsFile(runs)), "");
  ASSERT_EQ(error(":load " + package), "");
  const auto info = line(":info");
  EXPECT_EQ(info->as<ModelInfo>()->latency->formula, "100 us + 1 us*n");
  EXPECT_EQ(info->as<ModelInfo>()->latency->sizesCount, 6);
}

// A package runs without its formula; what cannot be read is said wherever it is asked for.
TEST_F(PackageLatencyTest, HostileMetadata) {
  for (const char* lines : {"nonsense", "latency\t9\n", "latency\t1\nbase\tnan\n",
                            "latency\t1\nbase\t1\nterm\t1\t0\t\t((((\nspread\t1\n"}) {
    ASSERT_TRUE(loadText(kPackagedProduct)->ok());
    loadPackageWith(lines);
    const auto info = line(":info");
    ASSERT_TRUE(info->ok());
    ASSERT_TRUE(info->as<ModelInfo>()->latency);
    EXPECT_FALSE(info->as<ModelInfo>()->latency->fault.empty());
    EXPECT_THAT(toText(info->view, {}), HasSubstr("its formula of the time cannot be read: "));
    EXPECT_FALSE(toJson(info->view)["latency"]["fault"].empty());
    EXPECT_THAT(error(":limit 1s --dim b=2"), HasSubstr("cannot be read"));
    EXPECT_THAT(error(":predict --dim b=2 --dim n=3"), HasSubstr("cannot be read"));
    const auto run = line(":run --dim b=1 --dim n=2 --limit 1000s");
    ASSERT_TRUE(run->ok()) << run->error->toString();
    EXPECT_THAT(run->as<RunResult>()->timeLimit->whyNotPredicted, HasSubstr("cannot be read"));
  }
}

}  // namespace
}  // namespace dyn
