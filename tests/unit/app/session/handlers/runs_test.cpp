// The list of runs of a session, and what is measured and compared by commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_file.h"
#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/bench_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/text/live_text.h"
#include "app/session/views/view_text.h"
#include "compiler/support/mapped_file.h"
#include "tests/support/sample_modules.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kThreeOperations = R"(fn @main(%x: Tensor[(n, 64), f32]) {
  %a = relu(%x)
  %b = exp(%a)
  %y = softmax(%b, axis = -1)
  return %y
}
)";

class RunsTest : public test::SessionFixture {
 protected:
  void SetUp() override {
    if (!canRun()) GTEST_SKIP() << "this build generates no code";
    ASSERT_TRUE(loadText(kThreeOperations)->ok());
  }
  void good(const std::string& text) {
    const auto outcome = line(text);
    ASSERT_TRUE(outcome->ok()) << text << ": " << outcome->error->message;
  }
  std::vector<RunRecord> runs() { return line(":runs")->as<RunList>()->rows; }
  std::string error(const std::string& text) {
    const auto outcome = line(text);
    return outcome->ok() ? "" : outcome->error->message;
  }
};

TEST_F(RunsTest, EveryRunIsListedAcrossPipelinesAndModels) {
  EXPECT_THAT(toText(line(":runs")->view, {}), HasSubstr("no run yet"));
  good(":run --dim n=3");
  good(":time 6 --dim n=4 --input x=ones");
  good(":set passes -fuse");
  good(":profile --dim n=5");
  good(":load " + folder_.write("other.dyn", "fn @main(%x: Tensor[(m), f32]) { %y = exp(%x) return %y }"));
  good(":bench --dim m=8 --seconds 0.01");
  EXPECT_FALSE(line(":run --dim n=3")->ok());
  const std::vector<RunRecord> all = runs();
  ASSERT_EQ(all.size(), 4u) << "a run that fails is none";
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].number, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(all[i].threads, 1);
    EXPECT_EQ(all[i].device, "cpu");
    EXPECT_EQ(all[i].modelDigest.size(), 8u);
    EXPECT_GT(all[i].peakBytes, 0);
    EXPECT_EQ(all[i].from, "");
  }
  EXPECT_EQ(all[0].command, "run");
  EXPECT_EQ(all[0].inputs, "random (seed 0)");
  EXPECT_EQ(all[0].time.count, 1);
  EXPECT_FALSE(all[0].isTimeProfiled);
  EXPECT_TRUE(all[0].places.empty());
  EXPECT_EQ(all[1].command, "time");
  EXPECT_EQ(all[1].inputs, "x=ones");
  EXPECT_EQ(all[1].time.count, 6);
  EXPECT_EQ(all[1].dims, (DimValues{{"n", 4}}));
  EXPECT_EQ(all[1].modelDigest, all[0].modelDigest);
  EXPECT_EQ(all[2].pipeline, "-fuse");
  EXPECT_TRUE(all[2].isTimeProfiled);
  EXPECT_FALSE(all[2].places.empty());
  EXPECT_EQ(all[3].command, "bench");
  EXPECT_NE(all[3].modelDigest, all[0].modelDigest);
  EXPECT_THAT(all[3].model, HasSubstr("other.dyn"));
  EXPECT_FALSE(all[3].places.empty());
  EXPECT_FALSE(all[3].isTimeProfiled) << "profiled runs come behind the timed ones";
}

TEST_F(RunsTest, SettingsThatChangeAProgramAreKept) {
  good(":set mem-limit 1GB");
  good(":set math bf16");
  good(":run --dim n=3");
  EXPECT_THAT(runs()[0].settings, HasSubstr("math=bf16"));
  EXPECT_THAT(runs()[0].settings, HasSubstr("mem-limit="));
}

TEST_F(RunsTest, MarksDecideWhatIsCompared) {
  for (int n = 1; n <= 4; ++n) good(":profile --dim n=" + std::to_string(n));
  const auto compared = [&](const std::string& text) {
    const auto outcome = line(text);
    const RunsView* view = outcome->as<RunsView>();
    return view ? std::to_string(view->firstNumber) + "-" + std::to_string(view->secondNumber)
                : outcome->error->message;
  };
  EXPECT_EQ(compared(":compare"), "3-4") << "the last two";
  EXPECT_EQ(compared(":compare 2"), "2-4") << "with the last one";
  EXPECT_EQ(compared(":compare 2 1"), "2-1");
  good(":runs pin 2");
  EXPECT_EQ(compared(":compare"), "2-4") << "the baseline";
  good(":runs check 1 3");
  EXPECT_EQ(compared(":compare"), "1-3") << "those that are checked";
  EXPECT_EQ(compared(":compare 2"), "2-4") << "numbers come before marks";
  EXPECT_THAT(toText(line(":runs")->view, {}), HasSubstr("baseline"));
  good(":runs uncheck 1");
  EXPECT_EQ(compared(":compare"), "2-4");
  good(":runs unpin");
  good(":runs drop 3");
  EXPECT_EQ(compared(":compare"), "2-4") << "the last two that are left";
  EXPECT_EQ(compared(":compare 3"), "run 3 is not kept");
}

TEST_F(RunsTest, WrongActionsAreRefused) {
  good(":run --dim n=3");
  EXPECT_THAT(error(":runs pim 1"), HasSubstr("no action 'pim'"));
  EXPECT_THAT(error(":runs pin"), HasSubstr("number of one run"));
  EXPECT_THAT(error(":runs pin 1 1"), HasSubstr("number of one run"));
  EXPECT_THAT(error(":runs check"), HasSubstr("takes numbers"));
  EXPECT_THAT(error(":runs unpin 1"), HasSubstr("takes no number"));
  EXPECT_THAT(error(":runs drop 7"), HasSubstr("run 7 is not kept"));
  EXPECT_THAT(error(":compare"), HasSubstr("there is one"));
  EXPECT_THAT(error(":run --dim n=3 --seconds 1"), HasSubstr("goes with --max-spread"));
  EXPECT_THAT(error(":run --dim n=3 --max-spread 0"), HasSubstr("percentage"));
  EXPECT_THAT(error(":bench --dim n=3 --max-spread 101"), HasSubstr("percentage"));
}

TEST_F(RunsTest, TheTotalComesFirstAndOtherSizesAreSaid) {
  good(":profile --dim n=3 --repeat 7");
  good(":profile --dim n=300 --repeat 7");
  const auto outcome = line(":compare");
  const RunsView& view = *outcome->as<RunsView>();
  EXPECT_EQ(view.firstTime.count, 7);
  ASSERT_FALSE(view.rows.empty());
  for (const RunDifference& row : view.rows)
    EXPECT_EQ(row.change == TimeChange::unknown, !row.firstNs || !row.secondNs) << row.place;
  const std::string text = toText(outcome->view, {});
  EXPECT_THAT(text, HasSubstr("not the same: sizes: n=3 and n=300"));
  EXPECT_LT(text.find("the whole run"), text.find("m.dyn:"));
}

TEST_F(RunsTest, RepetitionsEndByTheirTimeAndProfilingComesBehind) {
  // A spread that no run reaches: the time ends it.
  good(":profile --dim n=3 --max-spread 0.000001 --seconds 0.02");
  const RunRecord run = runs()[0];
  EXPECT_GT(run.time.count, 1);
  EXPECT_FALSE(run.isTimeProfiled);
  ASSERT_FALSE(run.places.empty());
  EXPECT_GT(run.places[0].time.count, 1);
  // One run that takes longer than the time: it is profiled and timed.
  good(":profile --dim n=3 --max-spread 3 --seconds 0.000000001");
  EXPECT_EQ(runs()[1].time.count, 1);
  EXPECT_TRUE(runs()[1].isTimeProfiled);
  // Times that may spread as they like agree with the fewest.
  good(":time --dim n=3 --max-spread 100 --seconds 100");
  EXPECT_GE(runs()[2].time.count, kLeastStable);
}

TEST_F(RunsTest, TheTraceIsOfOneRunHoweverManyAreMeasured) {
  good(":profile --dim n=3");
  const auto events = [&](const std::string& text) {
    return line(text)->share<RunResult>()->timeline.size();
  };
  EXPECT_EQ(events(":profile --dim n=3 --max-spread 100"), events(":profile --dim n=3"));
}

TEST_F(RunsTest, RunsAreWrittenAndComeBack) {
  const std::string file = folder_.path() + "/runs.json";
  EXPECT_THAT(error(":runs -o " + file), HasSubstr("no run to write"));
  good(":profile --dim n=3");
  good(":runs pin 1");
  good(":runs -o " + file);
  good(":recall " + file);
  std::vector<RunRecord> all = runs();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].from, file);
  EXPECT_FALSE(all[1].isBaseline) << "marks are of the session that wrote it";
  EXPECT_EQ(all[1].time.medianNs, all[0].time.medianNs);
  ASSERT_EQ(all[1].places.size(), all[0].places.size());
  const auto outcome = line(":compare 1 2");
  const RunsView& view = *outcome->as<RunsView>();
  EXPECT_TRUE(view.notes.empty());
  EXPECT_THAT(view.second, HasSubstr("of runs.json"));
  for (const RunDifference& row : view.rows) EXPECT_EQ(row.firstNs, row.secondNs) << row.place;
  EXPECT_TRUE(line(":places")->ok()) << "the run of before is still the last";
  EXPECT_THAT(error(":recall " + folder_.write("bad.json", "{\"schema\": 9, \"runs\": []}")),
              HasSubstr("schema 9"));
}

TEST_F(RunsTest, ABaselineOfAnotherMachineOrOfOtherSizesIsRefused) {
  const std::string file = folder_.path() + "/base.json";
  const auto written = line(":bench --dim n=3 --seconds 0.01 -o " + file);
  ASSERT_TRUE(written->ok()) << written->error->message;
  EXPECT_THAT(toText(written->view, {}), HasSubstr("runs written to"));
  const Result<MappedFile> mapped = MappedFile::open(file);
  ASSERT_TRUE(mapped.ok());
  Result<std::vector<RunRecord>> read = readRuns(mapped->bytes());
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 1u);
  // The same runs, however long they took: the comparison is shown.
  read->at(0).time = {9, 1'000'000'000'000, 1};
  const std::string slow = folder_.write("slow.json", runsText(*read));
  const auto faster = line(":bench --dim n=3 --seconds 0.01 --repeat 2 --baseline " + slow);
  ASSERT_TRUE(faster->ok()) << faster->error->message;
  EXPECT_EQ(faster->as<BenchResult>()->rows[0].change, TimeChange::faster);
  EXPECT_THAT(toText(faster->view, {}), HasSubstr("against " + slow));
  EXPECT_THAT(toText(faster->view, {}), Not(HasSubstr("not the same")));
  const auto others = line(":bench --dim n=4 --seconds 0.01 --baseline " + slow);
  ASSERT_FALSE(others->ok());
  EXPECT_EQ(others->error->id, DiagnosticId::usageError);
  EXPECT_THAT(toText(others->view, {}), HasSubstr("no run of n=4 is in the baseline"));
  read->at(0).machine = "another processor";
  read->at(0).threads = 64;
  const auto refused = line(":bench --dim n=3 --baseline " + folder_.write("there.json", runsText(*read)));
  ASSERT_FALSE(refused->ok());
  EXPECT_EQ(refused->error->id, DiagnosticId::usageError);
  EXPECT_THAT(refused->error->message, HasSubstr("not comparable"));
  ASSERT_EQ(refused->error->notes.size(), 2u);
  EXPECT_THAT(refused->error->notes[1], HasSubstr("threads: 64 and 1"));
  EXPECT_THAT(error(":bench --dim n=3 --baseline " + folder_.write("no.json", "{}")), HasSubstr("no.json"));
}

// From the first operation on, and before anything is measured.
TEST_F(RunsTest, TheWarmUpIsShownAsSuch) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<LiveRun> told;
  session_.setListener([&](const Event& event) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (event.live) told.push_back(*event.live);
    changed.notify_all();
  });
  good(":load " + folder_.write("loop.dyn", test::kSineLoop));
  Result<Command> run = parseCommand(":run --max-spread 3 --dim k=4 --input n=1000000000000");
  ASSERT_TRUE(run.ok());
  const Ticket ticket = session_.submit(*run);
  {
    std::unique_lock<std::mutex> lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::minutes(2), [&] { return told.size() >= 2; }));
  }
  session_.interrupt();
  EXPECT_EQ(session_.wait(ticket)->error->id, DiagnosticId::cancelled);
  session_.setListener(nullptr);
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_TRUE(told.front().isWarmup);
  EXPECT_GE(told.back().operationsDone, 1);
}

TEST(LiveRun, IsToldInWords) {
  LiveRun run;
  run.isWarmup = true;
  run.operationsDone = 3;
  run.operationsCount = 9;
  EXPECT_EQ(textOf(run), "warming up, operation 3 of 9");
  run = LiveRun();
  run.runsDone = 57;
  run.runsCount = 0;
  run.spreadShare = 0.0421;
  EXPECT_EQ(textOf(run), "run 58, spread 4.2 %");
  EXPECT_EQ(fractionOf(run), -1) << "how many there will be is not known";
}

}  // namespace
}  // namespace dyn
