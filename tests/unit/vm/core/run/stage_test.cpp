// Calls that wait in a stage: what they give, on lanes and one after the other, and what ends a stage.
#include <atomic>
#include <ctime>
#include <thread>

#include "tests/unit/vm/vm_harness.h"
#include "vm/base/thread_pool.h"
#include "vm/shared/dyn_stage_cost.h"

namespace dyn::vm::test {
namespace {

// Two chains from v0: v1 = v0 + v0, v2 = v1 + v0 of branch 0; v3 = v0 + v0, v4 = v3 + v3 of branch 1. Then
// both together. r3 steps: as many as make lanes worth it.
constexpr const char* kTwoChains = R"(
function f parameters 1 results 1
  dim r0 v0 0
  const r1 1
  const r3 16777216
  newtensor v1 f32 0 [r0]
  branch 2 0 r3 r1
  launch k0 r0 r0 [v0 v0 v1] []
  newtensor v3 f32 0 [r0]
  branch 2 1 r3 r1
  launch k0 r0 r0 [v0 v0 v3] []
  newtensor v2 f32 0 [r0]
  branch 2 0 r3 r1
  launch k0 r0 r0 [v1 v0 v2] []
  kill v1
  newtensor v4 f32 0 [r0]
  branch 2 1 r3 r1
  launch k0 r0 r0 [v3 v3 v4] []
  kill v3
  join
  newtensor v5 f32 0 [r0]
  launch k0 r0 r0 [v2 v4 v5] []
  ret [v5]
)";

dyn_options withThreads(int threads) {
  dyn_options options = {};
  options.thread_count = threads;
  return options;
}

TEST(Stage, ChainsGiveTheSameOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    Machine machine(std::string(kKernelRows) + kTwoChains, withThreads(threads));
    ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
    for (int run = 0; run < 12; ++run) {  // both ways are tried
      Value x = machine.floats({1, 2, 3.5F});
      ASSERT_EQ(machine.call("f", {x.get()}), DYN_OK) << machine.message;
      EXPECT_EQ(dataOf<float>(machine.output()), (std::vector<float>{7, 14, 24.5F})) << threads;
      EXPECT_EQ(machine.statistics().launches_count, 5u);
    }
  }
}

// What a branch frees while it waits is not given to another before it has run.
TEST(Stage, MemoryOfAWaitingCallStays) {
  Machine machine(std::string(kKernelRows) + R"(
function f parameters 1 results 2
  dim r0 v0 0
  const r1 1
  const r3 16777216
  newtensor v1 i64 0 [r0]
  branch 2 0 r3 r1
  const r4 5
  launch k1 r0 r0 [v1] [r4]
  moveobject v2 v1
  kill v1
  newtensor v3 i64 0 [r0]
  branch 2 1 r3 r1
  const r4 6
  launch k1 r0 r0 [v3] [r4]
  kill v3
  newtensor v4 i64 0 [r0]
  branch 2 1 r3 r1
  const r4 7
  launch k1 r0 r0 [v4] [r4]
  join
  ret [v2 v4]
)",
                  withThreads(4));
  ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
  Value x = machine.integers(std::vector<int64_t>(1000, 0));
  for (int run = 0; run < 10; ++run) {
    ASSERT_EQ(machine.call("f", {x.get()}), DYN_OK) << machine.message;
    EXPECT_EQ(dataOf<int64_t>(machine.output(0)), std::vector<int64_t>(1000, 5));
    EXPECT_EQ(dataOf<int64_t>(machine.output(1)), std::vector<int64_t>(1000, 7));
  }
}

// The host reads what a waiting call writes: it has run by then. A function may end without a join.
TEST(Stage, ReadingAnElementAndReturningEndAStage) {
  Machine machine(std::string(kKernelRows) + R"(
function f parameters 0 results 2
  const r0 3
  const r1 1
  const r3 16777216
  newtensor v1 i64 0 [r0]
  branch 2 0 r3 r1
  const r4 41
  launch k1 r0 r0 [v1] [r4]
  item r5 v1 r1
  add r5 r5 r1
  newtensor v2 i64 0 [r0]
  branch 2 1 r3 r1
  launch k1 r0 r0 [v2] [r5]
  ret [v1 v2]
)",
                  withThreads(2));
  ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
  ASSERT_EQ(machine.call("f"), DYN_OK) << machine.message;
  EXPECT_EQ(dataOf<int64_t>(machine.output(0)), (std::vector<int64_t>{41, 41, 41}));
  EXPECT_EQ(dataOf<int64_t>(machine.output(1)), (std::vector<int64_t>{42, 42, 42}));
}

// No compiler writes such a program; from a file it may come.
TEST(Stage, TwoNumbersOfBranchesAreNoFault) {
  Machine machine(std::string(kKernelRows) + R"(
function f parameters 0 results 2
  const r0 3
  const r1 1
  const r3 16777216
  newtensor v1 i64 0 [r0]
  newtensor v2 i64 0 [r0]
  branch 900 899 r3 r1
  launch k1 r0 r0 [v1] [r0]
  branch 2 0 r3 r1
  launch k1 r0 r0 [v2] [r1]
  join
  ret [v1 v2]
)",
                  withThreads(3));
  ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
  for (int run = 0; run < 10; ++run) {
    ASSERT_EQ(machine.call("f"), DYN_OK) << machine.message;
    EXPECT_EQ(dataOf<int64_t>(machine.output(0)), (std::vector<int64_t>{3, 3, 3}));
    EXPECT_EQ(dataOf<int64_t>(machine.output(1)), (std::vector<int64_t>{1, 1, 1}));
  }
}

TEST(Stage, AnyNumbersOfStepsAndPiecesAreNoFault) {
  for (const char* number : {"9223372036854775807", "-9223372036854775808", "-1", "0"}) {
    Machine machine(std::string(kKernelRows) + R"(
function f parameters 0 results 2
  const r0 3
  const r1 1
  const r3 )" + number + R"(
  newtensor v1 i64 0 [r0]
  newtensor v2 i64 0 [r0]
  branch 2 0 r3 r3
  launch k1 r0 r0 [v1] [r0]
  branch 2 1 r3 r3
  launch k1 r0 r0 [v2] [r1]
  branch 2 0 r3 r3
  launch k1 r0 r0 [v1] [r0]
  join
  ret [v1 v2]
)",
                    withThreads(3));
    ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
    for (int run = 0; run < 10; ++run) {
      ASSERT_EQ(machine.call("f"), DYN_OK) << machine.message;
      EXPECT_EQ(dataOf<int64_t>(machine.output(0)), (std::vector<int64_t>{3, 3, 3})) << number;
      EXPECT_EQ(dataOf<int64_t>(machine.output(1)), (std::vector<int64_t>{1, 1, 1})) << number;
    }
  }
}

// What waits takes memory that no limit counts: a stage in a loop of a program from a file ends before.
TEST(Stage, AFullStageRuns) {
  Machine machine(std::string(kKernelRows) + R"(
function f parameters 0 results 1
  const r0 3
  const r1 1
  const r3 16777216
  const r4 20000
  newtensor v1 i64 0 [r0]
again:
  branch 2 1 r3 r1
  launch k1 r0 r0 [v1] [r4]
  addi r4 r4 -1
  jumpif r4 again
  ret [v1]
)",
                  withThreads(2));
  ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
  ASSERT_EQ(machine.call("f"), DYN_OK) << machine.message;
  EXPECT_EQ(dataOf<int64_t>(machine.output(0)), (std::vector<int64_t>{1, 1, 1}));
}

// Of two calls that fail at the same time the first in the program is named; what waits is forgotten.
TEST(Stage, TheFirstCallThatFailsIsNamed) {
  const std::string text = std::string(kKernelRows) + R"(
string "the first"
string "the second"
function f parameters 0 results 0
  const r0 3
  const r1 1
  const r3 16777216
  const r4 2
  place 0
  branch 2 0 r3 r1
  launch k3 r0 r0 [] [r4]
  place 1
  branch 2 1 r3 r1
  launch k3 r0 r0 [] [r4]
  join
  ret []
function g parameters 0 results 0
  ret []
)";
  Machine machine(text, withThreads(2));
  ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
  for (int run = 0; run < 10; ++run) {
    EXPECT_EQ(machine.call("f"), DYN_KERNEL_FAULT);
    EXPECT_NE(machine.message.find("the first"), std::string::npos) << machine.message;
    EXPECT_EQ(machine.call("g"), DYN_OK) << machine.message;
  }
}

TEST(Stage, KernelsHaveScratchMemoryOfTheirOwnOnEachLane) {
  Machine machine(std::string(kKernelRows) + R"(
function f parameters 0 results 2
  const r0 70000
  const r1 8
  const r3 16777216
  newtensor v1 i64 0 [r0]
  newtensor v2 i64 0 [r0]
  branch 2 0 r3 r1
  launch k2 r0 r3 [v1] []
  branch 2 1 r3 r1
  launch k2 r0 r3 [v2] []
  join
  ret [v1 v2]
)",
                  withThreads(5));
  ASSERT_EQ(machine.loadStatus, DYN_OK) << machine.loadMessage;
  for (int run = 0; run < 10; ++run) {
    ASSERT_EQ(machine.call("f"), DYN_OK) << machine.message;
    EXPECT_EQ(dataOf<int64_t>(machine.output(0)), std::vector<int64_t>(70000, 100));
    EXPECT_EQ(dataOf<int64_t>(machine.output(1)), std::vector<int64_t>(70000, 100));
  }
}

// --- what it costs

TEST(StageCost, TwoEqualBranchesOnTwoThreadsAreALaneEach) {
  const stage::Call calls[] = {{1'000'000, 4, 0}, {1'000'000, 4, 1}};
  const stage::Cost cost = stage::costOf(calls, 2, 2);
  EXPECT_TRUE(cost.wantsLanes());
  EXPECT_EQ(cost.threads, (std::vector<uint32_t>{1, 1}));
  EXPECT_NE(cost.laneOf[0], cost.laneOf[1]);
}

TEST(StageCost, ThreadsGoToTheLongBranch) {
  const stage::Call calls[] = {{40'000'000, 64, 0}, {1'000'000, 64, 1}};
  const stage::Cost cost = stage::costOf(calls, 2, 8);
  ASSERT_EQ(cost.threads.size(), 2u);
  EXPECT_EQ(cost.threads[static_cast<size_t>(cost.laneOf[0])], 7u);
}

TEST(StageCost, BranchesOfVeryDifferentLengthStayInTurn) {
  const stage::Call calls[] = {{100'000'000, 10'000, 0}, {1'000, 1, 1}};
  EXPECT_FALSE(stage::costOf(calls, 2, 2).wantsLanes());
  EXPECT_FALSE(stage::costOf(calls, 2, 1).mayGain());
}

// --- lanes of a pool

TEST(Lanes, EachRunsItsTasksOnThreadsOfItsOwn) {
  ThreadPool pool(6);
  std::vector<std::unique_ptr<ThreadPool>> lanes;
  lanes.push_back(std::make_unique<ThreadPool>(pool, 0, 3));
  lanes.push_back(std::make_unique<ThreadPool>(pool, 3, 1));
  lanes.push_back(std::make_unique<ThreadPool>(pool, 4, 2));
  struct Work {
    std::vector<std::unique_ptr<ThreadPool>>* lanes;
    std::atomic<int64_t> sums[3] = {};
  } work{&lanes};
  for (int round = 0; round < 200; ++round)
    pool.runLanes(
        lanes,
        [](void* argument, uint32_t lane) {
          auto& w = *static_cast<Work*>(argument);
          (*w.lanes)[lane]->split(1000, 64, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) w.sums[lane] += i;
          });
        },
        &work);
  for (const std::atomic<int64_t>& sum : work.sums) EXPECT_EQ(sum, 200 * 499'500);
}

TEST(Lanes, OnWorkersOfManyPoolsTheyFinishToo) {
  auto workers = std::make_shared<WorkerSet>(3);
  ThreadPool a(4, workers);
  std::vector<std::unique_ptr<ThreadPool>> lanes;
  lanes.push_back(std::make_unique<ThreadPool>(a, 0, 2));
  lanes.push_back(std::make_unique<ThreadPool>(a, 2, 2));
  struct Work {
    std::vector<std::unique_ptr<ThreadPool>>* lanes;
    std::atomic<int64_t> sum{0};
  } work{&lanes};
  for (int round = 0; round < 200; ++round)
    a.runLanes(
        lanes,
        [](void* argument, uint32_t lane) {
          auto& w = *static_cast<Work*>(argument);
          (*w.lanes)[lane]->split(100, 2, [&](int64_t begin, int64_t end) { w.sum += end - begin; });
        },
        &work);
  EXPECT_EQ(work.sum, 200 * 200);
}

TEST(Lanes, SimulatedTheyCountAsTheLongest) {
  ThreadPool pool(4);
  pool.simulate(true);
  std::vector<std::unique_ptr<ThreadPool>> lanes;
  lanes.push_back(std::make_unique<ThreadPool>(pool, 0, 2));
  lanes.push_back(std::make_unique<ThreadPool>(pool, 2, 2));
  static std::vector<std::unique_ptr<ThreadPool>>* all = nullptr;
  all = &lanes;
  const auto busy = [](void*, uint32_t lane) {
    // Four tasks of a share of a million steps, on two threads: half of the time is saved within the lane.
    (*all)[lane]->split(2, 2, [](int64_t, int64_t) {
      volatile double x = 1;
      for (int i = 0; i < 1'000'000; ++i) x = x * 1.0000001;
    });
  };
  const uint64_t begin = pool.clockNs();
  const std::clock_t computed = std::clock();
  pool.runLanes(lanes, busy, nullptr);
  const double counted = static_cast<double>(pool.clockNs() - begin);
  const double whole = static_cast<double>(std::clock() - computed) * 1e9 / CLOCKS_PER_SEC;
  EXPECT_LT(counted, whole * 0.45);  // a quarter, were all alike
}

}  // namespace
}  // namespace dyn::vm::test
