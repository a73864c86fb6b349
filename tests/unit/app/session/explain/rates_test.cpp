// Rates: none that is shown anywhere is beyond what the machine can do.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "app/engine/run/run_result.h"
#include "app/session/explain/machine_bound.h"
#include "app/session/explain/machine_limits.h"
#include "app/session/views/view_text.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

TEST(Rates, BeyondTheBoundIsNoMeasurement) {
  EXPECT_EQ(Rate::of(100, 10, 50).perNs(), 10.0);
  EXPECT_TRUE(Rate::of(1000, 10, 50).isBeyond());
  EXPECT_TRUE(Rate::of(1, 0, 50).isBeyond()) << "a time of nothing";
  EXPECT_FALSE(Rate::of(1000, 10, 50).perNs());
  EXPECT_FALSE(Rate::of(0, 10, 50).isBeyond());
  EXPECT_FALSE(Rate::of(0, 10, 50).perNs());
  EXPECT_EQ(Rate::of(1e9, 1, MachineBound().gflops).perNs(), 1e9) << "nothing is known of that machine";
}

TEST(Rates, TheBoundGrowsWithThreadsAndNarrowTypes) {
  EXPECT_GT(clockGhz(), 0.01);
  EXPECT_LT(clockGhz(), 20);
  const double before = clockGhz();
  EXPECT_GE(clockGhz(), before) << "a disturbed measurement lowers no bound";
  const MachineBound one = machineBound(1, ProductsOf::f32), four = machineBound(4, ProductsOf::f32);
  EXPECT_GT(four.gflops, 2 * one.gflops);
  EXPECT_GT(four.gigabytesPerSecond, 2 * one.gigabytesPerSecond);
  EXPECT_GT(machineBound(1, ProductsOf::bytes).gflops, 2 * one.gflops);
}

TEST(Rates, WhatCanNotHaveBeenIsTakenOutOfARun) {
  SessionOptions options{.threadCount = 1};
  RunResult run;
  TimelineEvent possible;
  possible.kind = "kernel";
  possible.shapes = "f32[1000]";
  possible.durationNs = 1'000'000;
  possible.bytes = 4000;
  possible.movedBytes = possible.operations = 4000;
  TimelineEvent impossible = possible;
  impossible.durationNs = 1;
  impossible.bytes = 1'000'000;
  impossible.movedBytes = impossible.operations = 1e6;
  run.timeline = {possible, impossible};
  KernelTable table;
  table.rows.resize(2);
  table.rows[0].totalNs = 1'000'000;
  table.rows[1].totalNs = 1;
  for (KernelRow& row : table.rows) row.bytes = 1'000'000;
  run.profile = std::make_shared<const KernelTable>(table);
  const MachineBound bound = checkRates(options, run);
  EXPECT_LT(bound.gflops, 1e5);
  EXPECT_EQ(run.timeline[0].bytes, 4000);
  EXPECT_EQ(run.timeline[0].operations, 4000);
  EXPECT_EQ(run.timeline[1].bytes, 0);
  EXPECT_EQ(run.timeline[1].movedBytes, 0);
  EXPECT_EQ(run.timeline[1].operations, 0);
  EXPECT_EQ(run.profile->rows[0].bytes, 1'000'000);
  EXPECT_EQ(run.profile->rows[1].bytes, 0);
  options.device = "cuda";
  EXPECT_GT(checkRates(options, run).gflops, 1e9) << "of a device no bound is known";
}

// Every figure with its unit, and every cell of a column of that unit.
struct Figure {
  double value;
  std::string line;
};
std::vector<Figure> figuresOf(const std::string& text, const std::string& unit) {
  std::vector<Figure> figures;
  std::istringstream stream(text);
  size_t end = std::string::npos;  // of the column, which stands at its right
  for (std::string line; std::getline(stream, line);) {
    const std::regex before("([0-9.]+(?:/[0-9.]+)*) " + unit);
    const std::sregex_iterator none;
    bool said = false;
    for (std::sregex_iterator at(line.begin(), line.end(), before); at != none; ++at) {
      said = true;
      std::istringstream parts((*at)[1]);
      for (std::string part; std::getline(parts, part, '/');) figures.push_back({std::stod(part), line});
    }
    if (said) continue;
    if (const size_t head = line.find(unit); head != std::string::npos) {
      end = head + unit.size();
      continue;
    }
    if (end == std::string::npos || line.size() < end) continue;
    const size_t begin = line.find_last_of(' ', end - 1);
    const std::string cell = line.substr(begin + 1, end - begin - 1);
    if (cell.find_first_not_of("0123456789.") == std::string::npos && !cell.empty())
      figures.push_back({std::stod(cell), line});
  }
  return figures;
}

TEST(Rates, FiguresAreFoundInTextAndTables) {
  const std::string text =
      "name    GB/s  GFLOP/s\na       12.5        -\nb\n1 thread: 40 GFLOP/s in products, 160/80 GB/s\n";
  ASSERT_EQ(figuresOf(text, "GB/s").size(), 3u);
  EXPECT_EQ(figuresOf(text, "GB/s")[0].value, 12.5);
  EXPECT_EQ(figuresOf(text, "GB/s")[2].value, 80);
  ASSERT_EQ(figuresOf(text, "GFLOP/s").size(), 1u);
}

class AllViews : public test::SessionFixture {
 protected:
  void SetUp() override {
    if (!canRun()) GTEST_SKIP() << "this build generates no code";
    ASSERT_TRUE(line(":set cache-dir " + folder_.path())->ok());
  }

  // Walks what shows rates; `more` says so that each view has shown some.
  void walk(const std::string& dims, const std::string& inputs = "") {
    const std::string call = " " + dims + " " + inputs;
    for (const std::string& command :
         {":bench --seconds 0.01 --repeat 3" + call, ":profile" + call, std::string(":places"),
          ":profile --explain" + call, std::string(":places"), ":predict " + dims, ":kernels " + dims}) {
      const auto outcome = line(command);
      ASSERT_TRUE(outcome->ok()) << command << ": " << outcome->error->message;
      const std::string text = toText(outcome->view, TextOptions());
      // Measured afterwards: no bound that the command had was higher. The figures are rounded.
      const MachineBound bound = machineBound(1, ProductsOf::bytes);
      for (const Figure& figure : figuresOf(text, "GB/s"))
        EXPECT_LE(figure.value, 1.05 * bound.gigabytesPerSecond) << command << "\n" << figure.line;
      for (const Figure& figure : figuresOf(text, "GFLOP/s"))
        EXPECT_LE(figure.value, 1.05 * bound.gflops) << command << "\n" << figure.line;
      EXPECT_EQ(text.find(" 0 ns a launch"), std::string::npos) << command << "\n" << text;
    }
  }
};

// In one session, which measures the machine once.
TEST_F(AllViews, ShowNoRateBeyondTheMachine) {
  // A lookup, and next to nothing to do.
  ASSERT_TRUE(loadText("fn @main(%t: Tensor[(1000000, 16), f32], %i: Tensor[(n), i64]) "
                       "{ %y = gather(%t, %i) %z = scatter_nd(%t, unsqueeze(%i, i64[1] [1]), %y) "
                       "return %y, %z }\n")
                  ->ok());
  walk("--dim n=3", "--input i=zeros");
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(n), f32]) { x + 1.0 }\n")->ok());
  for (const char* n : {"--dim n=0", "--dim n=1", "--dim n=2048"}) walk(n);
  // Padding that nobody computes, and samples.
  struct Row {
    const char *model, *dims, *inputs;
  };
  for (const Row& row : {Row{"encoder", "--dim batch=2 --dim seq=256", "--input lengths=zeros"},
                         Row{"bert", "--dim batch=2 --dim seq=16", ""}}) {
    ASSERT_TRUE(line(":load " + test::sourceFolder() + "/samples/models/" + row.model + "/model.onnx")->ok());
    walk(row.dims, row.inputs);
  }
  // What a launch takes is measured, not what is left of a difference.
  SessionOptions options{.threadCount = 1, .cacheDirectory = folder_.path()};
  Interruption interruption;
  Result<MachineLimits> limits = machineLimits(options, interruption, [](const std::string&) {});
  ASSERT_TRUE(limits.ok()) << limits.error().toString();
  EXPECT_GT(limits->eachLaunchNs, 0);
  EXPECT_LT(limits->eachLaunchNs, 1e6);
}

// What was measured while the machine was busy is no bound, and is not kept for ever.
TEST_F(AllViews, LimitsThatARunBeatsAreMeasuredAgain) {
  SessionOptions options{.threadCount = 1, .cacheDirectory = folder_.path()};
  Interruption interruption;
  const auto keptLimits = [&] { return machineLimits(options, interruption, [](const std::string&) {}); };
  ASSERT_TRUE(line(":set threads 1")->ok());
  Result<MachineLimits> limits = keptLimits();
  ASSERT_TRUE(limits.ok()) << limits.error().toString();
  MachineLimits low = *limits;
  low.gemmOperations /= 20;
  std::ofstream(folder_.path() + "/machine-limits-1.txt") << printLimits(low);
  ASSERT_EQ(keptLimits()->gemmOperations, low.gemmOperations);
  ASSERT_TRUE(
      loadText("fn @main(%x: Tensor[(n, 512), f32], %y: Tensor[(512, 512), f32]) { matmul(%x, %y) }")->ok());
  ASSERT_TRUE(line(":profile --explain --dim n=256")->ok());
  EXPECT_GT(keptLimits()->gemmOperations, 4 * low.gemmOperations) << "for other processes, too";
}

}  // namespace
}  // namespace dyn
