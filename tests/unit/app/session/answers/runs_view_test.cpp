#include "app/session/answers/runs_view.h"
#include "app/engine/run/run_record.h"
#include "app/session/views/bench_views.h"
#include "app/session/views/run_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dyn {
namespace {

using testing::HasSubstr;

RunRecord comparedRun(int64_t number, TimeStatistics time) {
  RunRecord run;
  run.number = number;
  run.model = "/models/m.onnx";
  run.modelDigest = "0badcafe";
  run.dims = {{"n", 4}};
  run.inputs = "random (seed 0)";
  run.threads = 2;
  run.device = "cpu";
  run.machine = "processor A";
  run.time = time;
  run.peakBytes = 100 * number;
  return run;
}

PlaceTime place(const std::string& node, int64_t medianNs, std::optional<int64_t> spreadNs,
                std::vector<std::string> members = {}) {
  return {node, std::move(members), {9, medianNs, spreadNs}};
}

std::string nodeAt(const std::string& file, int byte, const std::string& name) {
  return file + ": byte " + std::to_string(byte) + ": node " + name + " (Relu, opset 17)";
}

TEST(RunsView, DifferencesWithinTheSpreadAreNoise) {
  RunRecord first = comparedRun(1, {50, 1000, 30}), second = comparedRun(2, {50, 1020, 10});
  first.places = {place("a", 500, 10), place("b", 300, 10), place("c", 5, std::nullopt), place("d", 7, 1)};
  second.places = {place("a", 505, 8), place("b", 400, 10), place("c", 50, 2), place("e", 1, 1)};
  const RunsView runs = compareRuns(first, second);
  EXPECT_EQ(runs.change, TimeChange::withinNoise);
  EXPECT_EQ(runs.firstNumber, 1);
  EXPECT_EQ(runs.secondTime.medianNs, 1020);
  EXPECT_EQ(runs.secondPeakBytes, 200);
  EXPECT_TRUE(runs.notes.empty()) << runs.notes[0];
  std::map<std::string, TimeChange> changes;
  for (const RunDifference& row : runs.rows) changes[row.place] = row.change;
  EXPECT_EQ(changes["a"], TimeChange::withinNoise);
  EXPECT_EQ(changes["b"], TimeChange::slower);
  EXPECT_EQ(changes["c"], TimeChange::unknown) << "it was measured once";
  EXPECT_EQ(changes["d"], TimeChange::unknown) << "it is of one run alone";
  ASSERT_EQ(runs.rows.size(), 5u);
  EXPECT_EQ(runs.rows[0].place, "b") << "the greatest difference first";
  EXPECT_NEAR(*runs.rows[0].ratio, 4.0 / 3, 1e-9);
}

TEST(RunsView, WhatOneKernelDoesAndSeveralDidIsOneRow) {
  RunRecord fused = comparedRun(1, {9, 100, 1}), apart = comparedRun(2, {9, 200, 1});
  fused.places = {place("b", 60, 4, {"a", "b", "c"})};
  apart.places = {place("a", 30, 1), place("b", 40, 2), place("c", 50, 3)};
  const RunsView runs = compareRuns(fused, apart);
  ASSERT_EQ(runs.rows.size(), 1u);
  EXPECT_EQ(runs.rows[0].firstNs, 60);
  EXPECT_EQ(runs.rows[0].secondNs, 120);
  EXPECT_EQ(runs.rows[0].change, TimeChange::slower);
  EXPECT_THAT(runs.rows[0].members, testing::ElementsAre("a", "b", "c"));
}

TEST(RunsView, OfTwoVersionsOfAFileOperationsAreFoundByTheirNames) {
  RunRecord first = comparedRun(1, {9, 100, 1}), second = comparedRun(2, {9, 200, 1});
  first.places = {place(nodeAt("/old/m.onnx", 17, "/layer/Relu"), 60, 4)};
  second.places = {place(nodeAt("/new/m.onnx", 90, "/layer/Relu"), 61, 4)};
  EXPECT_EQ(compareRuns(first, second).rows.size(), 2u) << "one file: two nodes of one name";
  first.places[0].place = nodeAt("/old/m.onnx", 90, "/layer/Relu");
  EXPECT_EQ(compareRuns(first, second).rows.size(), 1u) << "the folder does not count";
  first.places[0].place = nodeAt("/old/before.onnx", 17, "/layer/Relu");
  first.modelDigest = "11111111";
  const RunsView runs = compareRuns(first, second);
  ASSERT_EQ(runs.rows.size(), 1u);
  EXPECT_EQ(runs.rows[0].place, second.places[0].place) << "of the model that is more likely loaded";
  EXPECT_THAT(runs.notes, testing::ElementsAre(HasSubstr("the files differ")));
  second.places = {place("/x/m.dyn:4:3", 1, 1)};
  first.places = {place("/y/m.dyn:4:3", 1, 1)};
  EXPECT_EQ(compareRuns(first, second).rows.size(), 1u);
}

TEST(RunsView, WhatElseIsNotTheSameIsSaid) {
  const RunRecord first = comparedRun(1, {9, 100, 1});
  RunRecord second = first;
  second.machine = "processor B";
  second.threads = 1;
  second.device = "cuda";
  EXPECT_THAT(differencesOf(first, second, Sameness::comparable),
              testing::ElementsAre("machine: processor A and processor B", "device: cpu and cuda",
                                   "threads: 2 and 1"));
  second = first;
  second.pipeline = "-fuse";
  second.settings = "math=bf16";
  second.dims = {{"n", 5}};
  second.inputs = "x=ones";
  second.model = "/models/other.onnx";
  second.isTimeProfiled = true;
  EXPECT_TRUE(differencesOf(first, second, Sameness::comparable).empty());
  EXPECT_THAT(differencesOf(first, second, Sameness::all),
              testing::ElementsAre("model: m.onnx and other.onnx", "pipeline: standard and -fuse",
                                   "settings: default and math=bf16", "sizes: n=4 and n=5",
                                   "inputs: random (seed 0) and x=ones",
                                   "the time of the second includes profiling"));
  const RunsView runs = compareRuns(first, second);
  EXPECT_EQ(runs.first, "run 1 [m.onnx] [standard]: n=4");
  EXPECT_EQ(runs.second, "run 1 [other.onnx] [-fuse]: n=5");
}

TEST(Baseline, EachShapeIsComparedWithTheLastRunOfItsSizes) {
  RunRecord four = comparedRun(1, {9, 100, 2}), again = comparedRun(2, {9, 120, 2}),
            five = comparedRun(3, {9, 100, 2});
  five.dims = {{"n", 5}};
  RunRecord six = comparedRun(4, {9, 100, 2});
  six.dims = {{"n", 6}};
  BenchResult bench;
  bench.baselineFile = "before.json";
  bench.rows.resize(3);
  RunRecord slower = comparedRun(5, {9, 130, 2});
  compareWithBaseline({four, again, five}, {slower, five, six}, bench);
  ASSERT_TRUE(bench.rows[0].baseline);
  EXPECT_EQ(bench.rows[0].baseline->medianNs, 120) << "the last one";
  EXPECT_EQ(bench.rows[0].change, TimeChange::slower);
  EXPECT_EQ(bench.rows[1].change, TimeChange::withinNoise);
  EXPECT_FALSE(bench.rows[2].baseline);
  EXPECT_THAT(bench.baselineNotes, testing::ElementsAre(HasSubstr("no run of n=6 is in the baseline")));
  const std::optional<Diagnostic> fault = baselineFault(bench);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->id, DiagnosticId::slowerThanBaseline);
  EXPECT_EQ(exitCode(fault->id), 3);
  EXPECT_EQ(fault->message, "1 of 2 shapes are slower than in before.json");
  bench.rows[0].change = TimeChange::faster;
  EXPECT_FALSE(baselineFault(bench));
  bench.rows[0].baseline = bench.rows[1].baseline = std::nullopt;
  ASSERT_TRUE(baselineFault(bench));
  EXPECT_EQ(baselineFault(bench)->id, DiagnosticId::usageError);
}

}  // namespace
}  // namespace dyn
