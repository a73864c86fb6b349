// Threads of runs: a pool's own, and those that pools share.
#include "vm/base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

namespace dyn::vm {
namespace {

// Counts how often each task ran.
struct Counts {
  std::vector<std::atomic<uint32_t>> ran;
  explicit Counts(size_t tasks) : ran(tasks) {}
  static void task(void* argument, uint32_t task) { static_cast<Counts*>(argument)->ran[task].fetch_add(1); }
};

// Tasks that end when all of them have begun.
struct Barrier {
  uint32_t wanted;
  std::atomic<bool> open{false};
  std::atomic<uint32_t> begun{0};
  static void task(void* argument, uint32_t) {
    auto& self = *static_cast<Barrier*>(argument);
    self.begun.fetch_add(1);
    while (!self.open) std::this_thread::yield();
  }
  void awaitAll() const {
    while (begun < wanted) std::this_thread::yield();
  }
};

TEST(ThreadPool, ManyPoolsOnFewWorkersRunEachTaskOnce) {
  const auto workers = std::make_shared<WorkerSet>(3);
  constexpr uint32_t kCallers = 8, kLaunches = 400;
  std::vector<std::thread> callers;
  std::atomic<uint32_t> wrong{0};
  for (uint32_t caller = 0; caller < kCallers; ++caller)
    callers.emplace_back([&, caller] {
      const uint32_t tasks = caller + 2;  // also more than the workers are
      ThreadPool pool(tasks, workers);
      for (uint32_t launch = 0; launch < kLaunches; ++launch) {
        Counts counts(tasks);
        pool.run(tasks, Counts::task, &counts);
        for (const std::atomic<uint32_t>& count : counts.ran) wrong += count != 1;
        const int64_t extent = launch % 37;
        std::vector<uint8_t> seen(static_cast<size_t>(extent), 0);
        pool.split(extent, tasks, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        wrong += std::accumulate(seen.begin(), seen.end(), int64_t{0}) != extent;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(workers->startedCount(), 3u);
}

// The workers are in the hands of another run until the end of this test.
TEST(ThreadPool, WithoutAFreeWorkerTheCallerRunsAllTasks) {
  const auto workers = std::make_shared<WorkerSet>(3);
  Barrier barrier{.wanted = 4};
  std::thread other([&] {
    ThreadPool pool(4, workers);
    pool.run(4, Barrier::task, &barrier);
  });
  barrier.awaitAll();
  ThreadPool pool(4, workers);
  std::vector<std::thread::id> by(4);
  pool.run(
      4,
      [](void* argument, uint32_t task) {
        (*static_cast<std::vector<std::thread::id>*>(argument))[task] = std::this_thread::get_id();
      },
      &by);
  for (const std::thread::id id : by) EXPECT_EQ(id, std::this_thread::get_id());
  barrier.open = true;
  other.join();
}

TEST(ThreadPool, FreeWorkersAreSharedByTheLaunchesInProgress) {
  WorkerSet set(8);
  ASSERT_TRUE(set.start());
  WorkerSet::Number taken[5][8];
  WorkerSet::Launch first(set);
  ASSERT_EQ(first.take(8, taken[0]), 8u);  // alone
  {
    WorkerSet::Launch second(set);
    EXPECT_EQ(second.take(8, taken[1]), 0u);  // none is free, and nothing waits
    first.giveBack(taken[0], 8);
    EXPECT_EQ(second.take(8, taken[1]), 4u);  // half
    WorkerSet::Launch third(set);
    EXPECT_EQ(third.take(8, taken[2]), 3u);  // a third, rounded up
    WorkerSet::Launch fourth(set);
    EXPECT_EQ(fourth.take(1, taken[3]), 1u);
    WorkerSet::Launch fifth(set);
    EXPECT_EQ(fifth.take(8, taken[4]), 0u);
    std::vector<uint32_t> seen(8, 0);
    for (uint32_t i = 0; i < 4; ++i) ++seen[taken[1][i]];
    for (uint32_t i = 0; i < 3; ++i) ++seen[taken[2][i]];
    ++seen[taken[3][0]];
    EXPECT_EQ(seen, std::vector<uint32_t>(8, 1));  // no worker is lent twice
    second.giveBack(taken[1], 4);
    third.giveBack(taken[2], 3);
    fourth.giveBack(taken[3], 1);
  }
  WorkerSet::Launch last(set);
  EXPECT_EQ(last.take(8, taken[0]), 4u);  // `first` is still in progress
  last.giveBack(taken[0], 4);
}

TEST(ThreadPool, MoreWorkersThanAWordHasBits) {
  WorkerSet set(130);
  ASSERT_TRUE(set.start());
  std::vector<WorkerSet::Number> taken(130);
  for (int turn = 0; turn < 2; ++turn) {
    WorkerSet::Launch launch(set);
    ASSERT_EQ(launch.take(129, taken.data()), 129u);
    for (uint32_t i = 0; i < 129; ++i) EXPECT_EQ(taken[i], i);
    EXPECT_EQ(launch.take(2, taken.data() + 129), 1u);
    EXPECT_EQ(taken[129], 129u);
    launch.giveBack(taken.data(), 130);
  }
}

TEST(ThreadPool, ATaskThatThrowsOnSharedWorkersEndsAlone) {
  const auto workers = std::make_shared<WorkerSet>(2);
  ThreadPool pool(5, workers);
  std::atomic<uint32_t> ran{0};
  const auto task = [](void* argument, uint32_t which) {
    static_cast<std::atomic<uint32_t>*>(argument)->fetch_add(1);
    if (which == 3) throw std::bad_alloc();
  };
  EXPECT_THROW(pool.run(5, task, &ran), std::bad_alloc);
  EXPECT_EQ(ran, 5u);
  Counts counts(5);
  pool.run(5, Counts::task, &counts);
  for (const std::atomic<uint32_t>& count : counts.ran) EXPECT_EQ(count, 1u);
}

// Who watches sees its own tasks alone.
TEST(ThreadPool, WorkersNoteTheirTimeForThePoolThatWatches) {
  const auto workers = std::make_shared<WorkerSet>(3);
  ThreadPool watched(4, workers), other(4, workers);
  watched.watch(true);
  std::thread beside([&] {
    Counts counts(4);
    for (int launch = 0; launch < 200; ++launch) other.run(4, Counts::task, &counts);
  });
  Counts counts(4);
  for (int launch = 0; launch < 200; ++launch) watched.run(4, Counts::task, &counts);
  beside.join();
  {  // all of its workers take part
    Barrier barrier{.wanted = 4, .open = false};
    std::thread opens([&] {
      barrier.awaitAll();
      barrier.open = true;
    });
    watched.run(4, Barrier::task, &barrier);
    opens.join();
  }
  const std::vector<std::vector<TaskSpan>> spans = watched.spans();
  ASSERT_EQ(spans.size(), 3u);
  for (const std::vector<TaskSpan>& worker : spans) {
    ASSERT_FALSE(worker.empty());
    EXPECT_LE(worker.size(), 201u);
    for (size_t i = 1; i < worker.size(); ++i) EXPECT_GE(worker[i].beginNs, worker[i - 1].endNs);
  }
  EXPECT_TRUE(other.spans().empty());
}

// The child has no workers, and must not wait for them.
TEST(ThreadPool, AForkedProcessMayDropItsParentsPools) {
  auto shared = std::make_shared<WorkerSet>(3);
  auto onShared = std::make_unique<ThreadPool>(4, shared), own = std::make_unique<ThreadPool>(4);
  Counts counts(4);
  onShared->run(4, Counts::task, &counts);
  own->run(4, Counts::task, &counts);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    onShared.reset();
    shared.reset();
    own.reset();
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  own->run(4, Counts::task, &counts);  // the parent's go on
  onShared->run(4, Counts::task, &counts);
}

}  // namespace
}  // namespace dyn::vm
