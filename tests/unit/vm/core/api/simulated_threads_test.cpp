// Simulated threads: tasks that run one after the other and are counted as if each had a core of its own.
#include <thread>

#include "tests/unit/vm/vm_harness.h"
#include "vm/base/clock.h"
#include "vm/base/thread_pool.h"
#include "vm/include/dyn_cores.h"
#include "vm/kernels/work.h"

namespace dyn::vm::test {
namespace {

struct Work {
  std::vector<uint32_t> ran;
  std::vector<std::thread::id> by;
  uint64_t lastsNs = 0;
  static void task(void* argument, uint32_t task) {
    auto& self = *static_cast<Work*>(argument);
    const uint64_t end = nowNs() + self.lastsNs;
    while (nowNs() < end) {
    }
    self.ran.push_back(task);
    self.by.push_back(std::this_thread::get_id());
  }
};

TEST(SimulatedThreads, TasksRunInTurnOnTheCallersThread) {
  ThreadPool pool(64);
  pool.simulate(true);
  Work work;
  pool.run(64, Work::task, &work);
  ASSERT_EQ(work.ran.size(), 64u);
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(work.ran[i], i);
    EXPECT_EQ(work.by[i], std::this_thread::get_id());
  }
}

// However long the machine takes: all tasks but the longest are saved, and starting is microseconds.
TEST(SimulatedThreads, AllButTheLongestTaskIsSaved) {
  ThreadPool pool(8);
  pool.simulate(true);
  Work work{.lastsNs = 1'000'000};
  const uint64_t begin = pool.clockNs(), realBegin = nowNs();
  pool.run(8, Work::task, &work);
  EXPECT_LT(pool.clockNs() - begin, (nowNs() - realBegin) / 2);
}

TEST(SimulatedThreads, StartingTasksThatDoNothingIsALoss) {
  ThreadPool pool(64);
  pool.simulate(true);
  Work work;
  work.ran.reserve(64), work.by.reserve(64);
  const uint64_t begin = pool.clockNs();
  pool.run(64, Work::task, &work);
  EXPECT_GE(pool.clockNs() - begin, 63 * 50);  // the caller posts them one by one
}

TEST(SimulatedThreads, OneTaskIsNotTouched) {
  ThreadPool pool(4);
  pool.simulate(true);
  Work work{.lastsNs = 1000};
  const uint64_t begin = pool.clockNs();
  pool.run(1, Work::task, &work);
  EXPECT_GT(pool.clockNs(), begin);
  EXPECT_EQ(work.ran.size(), 1u);
}

TEST(SimulatedThreads, ATaskThatThrowsEndsAlone) {
  ThreadPool pool(4);
  pool.simulate(true);
  int ran = 0;
  const auto task = [](void* argument, uint32_t which) {
    ++*static_cast<int*>(argument);
    if (which == 1) throw std::bad_alloc();
  };
  EXPECT_THROW(pool.run(4, task, &ran), std::bad_alloc);
  EXPECT_EQ(ran, 4);
}

// Each unit is of one task, whatever its weight.
TEST(UnequalUnits, ASplitOfTheTimeIsAPartition) {
  for (const kernels::UnequalUnits units :
       {kernels::UnequalUnits{3, 10, 10}, {0, 1, 5}, {7, 4, 0}, {1, 1, 1}})
    for (uint32_t tasks : {1u, 2u, 3u, 64u}) {
      std::vector<int64_t> seen;
      ThreadPool pool(64);
      pool.simulate(true);
      pool.split(units.total(), tasks, [&](int64_t begin, int64_t end) {
        for (int64_t unit = units.from(begin); unit < units.from(end); ++unit) seen.push_back(unit);
      });
      ASSERT_EQ(seen.size(), static_cast<size_t>(units.heavy + units.light));
      for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i));
    }
  // Two tasks of one long unit and ten of a tenth: the long one is alone.
  const kernels::UnequalUnits units{1, 10, 10};
  EXPECT_EQ(units.from(units.total() / 2), 1);
}

const std::string kFill = std::string(kKernelRows) +
                          "function f results 1\n const r0 1000003\n const r1 42\n newtensor v0 i64 0 [r0]\n "
                          "launch k1 r0 r0 [v0] [r1]\n ret [v0]\n";

TEST(SimulatedThreads, AProgramComputesTheSame) {
  dyn_options options = {};
  options.thread_count = 16;
  Machine m(kFill, options);
  ASSERT_EQ(dyn_context_simulate_threads(m.context(), 1), DYN_OK) << dyn_last_message();
  ASSERT_EQ(dyn_context_profile(m.context(), 1), DYN_OK);
  ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
  const std::vector<int64_t> data = dataOf<int64_t>(m.output());
  ASSERT_EQ(data.size(), 1000003u);
  EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](int64_t x) { return x == 42; }));
  // The profile counts on the same clock: the launch is within the run.
  const std::string table = dyn_context_profile_text(m.context(), "json");
  const size_t at = table.find("\"name\":\"fill\"");
  ASSERT_NE(at, std::string::npos) << table;
  const size_t total = table.find("\"total_ns\":", at);
  ASSERT_NE(total, std::string::npos) << table;
  EXPECT_LE(std::stoull(table.substr(total + 11)), m.statistics().run_ns);
}

TEST(SimulatedThreads, OneThreadOrNoContextIsAnError) {
  Machine m(kFill);
  EXPECT_EQ(dyn_context_simulate_threads(m.context(), 1), DYN_INVALID_ARGUMENT);
  EXPECT_NE(std::string(dyn_last_message()).find("one thread"), std::string::npos);
  EXPECT_EQ(dyn_context_simulate_threads(nullptr, 1), DYN_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace dyn::vm::test
