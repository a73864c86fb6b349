#include "vm/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>
#if defined(__linux__)
#include <time.h>
#endif

#include "vm/base/clock.h"

namespace dyn::vm {
namespace {

// Of a simulated run: the caller posts one worker after the other, a line comes to the worker's core, and its
// line of what is done comes back. As between two cores of one socket, while the workers spin.
constexpr int64_t kPostNs = 50, kArrivalNs = 100, kReturnNs = 50;

// What this thread has computed: time in which others had its core does not count.
int64_t computedNs() {
#if defined(__linux__)
  timespec time;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
#endif
  return static_cast<int64_t>(nowNs());
}

// Tasks of a run on shared workers: whoever is free takes the next.
struct Tasks {
  ThreadPool::TaskFunction function;
  void* argument;
  uint32_t count;
  std::atomic<uint32_t> next{1};  // the caller begins with task 0
  std::atomic<bool> failed{false};

  void run(uint32_t task) {
    if (!WorkerSet::runsToItsEnd(function, argument, task)) failed.store(true, std::memory_order_relaxed);
  }
  void runRest() {
    for (uint32_t task = 0; (task = next.fetch_add(1, std::memory_order_relaxed)) < count;) run(task);
  }
};

}  // namespace

ThreadPool::ThreadPool(uint32_t threadCount)
    : ThreadPool(threadCount, threadCount > 1 ? std::make_shared<WorkerSet>(threadCount - 1) : nullptr) {
  isShared_ = false;
}

ThreadPool::ThreadPool(uint32_t threadCount, std::shared_ptr<WorkerSet> shared)
    : threadCount_(threadCount == 0 ? 1 : threadCount), isShared_(true), workers_(std::move(shared)) {
  taken_.resize(threadCount_ - 1);
  posted_.resize(threadCount_ - 1);
}

ThreadPool::ThreadPool(const ThreadPool& whole, uint32_t first, uint32_t threadCount)
    : ThreadPool(threadCount, whole.workers_) {
  first_ = first;
  isShared_ = whole.isShared_;
}

void ThreadPool::watch(bool on) {
  watched_ = on && workers_;
  if (watched_) spans_.assign(workers_->workerCount(), {});
}

uint64_t ThreadPool::clockNs() const {
  return simulated_ ? static_cast<uint64_t>(computedNs() - savedNs_) : nowNs();
}

// What a lane has saved by itself is not counted again.
bool ThreadPool::runInTurn(uint32_t taskCount, TaskFunction function, void* argument,
                           std::span<const std::unique_ptr<ThreadPool>> lanes) {
  bool done = true;
  int64_t togetherNs = 0;
  const int64_t beginNs = computedNs();
  for (uint32_t task = 0; task < taskCount; ++task) {
    ThreadPool* lane = lanes.empty() ? nullptr : lanes[task].get();
    if (lane) lane->savedNs_ = 0;
    const int64_t before = computedNs();
    done = WorkerSet::runsToItsEnd(function, argument, task) && done;
    const int64_t ownNs = computedNs() - before - (lane ? lane->savedNs_ : 0);
    const int64_t beginsNs = task == 0 ? (taskCount - 1) * kPostNs : int64_t{task} * kPostNs + kArrivalNs;
    togetherNs = std::max(togetherNs, beginsNs + ownNs);
  }
  savedNs_ += computedNs() - beginNs - togetherNs - (taskCount - 1) * kReturnNs;
  return done;
}

// Worker first_+i runs task i+1: the same each time, so that its caches hold what it had. Of lanes: the
// worker that each begins with.
bool ThreadPool::runOnOwn(uint32_t taskCount, TaskFunction function, void* argument,
                          std::span<const std::unique_ptr<ThreadPool>> lanes) {
  WorkerSet& workers = *workers_;
  const auto workerOf = [&](uint32_t i) {
    return static_cast<WorkerSet::Number>(lanes.empty() ? first_ + i : lanes[i + 1]->first_ - 1);
  };
  const uint32_t started = workers.startedCount();
  uint32_t posted = 0;
  for (; posted + 1 < taskCount && workerOf(posted) < started; ++posted)
    posted_[posted] =
        workers.post(workerOf(posted), function, argument, posted + 1, spansOf(workerOf(posted)));
  // Whatever happens here, the others still use what `argument` points to until they are done.
  bool done = WorkerSet::runsToItsEnd(function, argument, 0);
  for (uint32_t i = 0; i < posted; ++i) {
    const bool mine = workers.takeBack(workerOf(i), posted_[i]);
    done = (mine ? WorkerSet::runsToItsEnd(function, argument, i + 1)
                 : workers.await(workerOf(i), posted_[i])) &&
           done;
  }
  for (uint32_t task = posted + 1; task < taskCount; ++task)
    done = WorkerSet::runsToItsEnd(function, argument, task) && done;
  return done;
}

bool ThreadPool::runOnShared(uint32_t taskCount, TaskFunction function, void* argument) {
  WorkerSet::Launch launch(*workers_);
  Tasks tasks{.function = function, .argument = argument, .count = taskCount};
  const uint32_t helpers = launch.take(taskCount - 1, taken_.data());
  for (uint32_t i = 0; i < helpers; ++i)
    posted_[i] = workers_->post(
        taken_[i], [](void* all, uint32_t) { static_cast<Tasks*>(all)->runRest(); }, &tasks, 0,
        spansOf(taken_[i]));
  tasks.run(0);
  tasks.runRest();
  // One that has not begun finds nothing left to do.
  for (uint32_t i = 0; i < helpers; ++i)
    if (!workers_->takeBack(taken_[i], posted_[i])) workers_->await(taken_[i], posted_[i]);
  launch.giveBack(taken_.data(), helpers);
  return !tasks.failed.load(std::memory_order_relaxed);
}

void ThreadPool::run(uint32_t taskCount, TaskFunction function, void* argument) {
  bool done = false;
  if (taskCount <= 1 || !workers_) {
    done = true;
    for (uint32_t task = 0; task < taskCount; ++task)
      done = WorkerSet::runsToItsEnd(function, argument, task) && done;
  } else if (simulated_) {
    done = runInTurn(taskCount, function, argument, {});
  } else {
    workers_->start();  // what the system does not give, the calling thread does itself
    done =
        isShared_ ? runOnShared(taskCount, function, argument) : runOnOwn(taskCount, function, argument, {});
  }
  if (!done) throw std::bad_alloc();
}

void ThreadPool::runLanes(std::span<const std::unique_ptr<ThreadPool>> lanes, TaskFunction function,
                          void* argument) {
  const auto count = static_cast<uint32_t>(lanes.size());
  if (!workers_ || count <= 1) return run(count, function, argument);
  for (const std::unique_ptr<ThreadPool>& lane : lanes) lane->simulated_ = simulated_;
  bool done = false;
  if (simulated_) {
    done = runInTurn(count, function, argument, lanes);
  } else {
    workers_->start();
    done = isShared_ ? runOnShared(count, function, argument) : runOnOwn(count, function, argument, lanes);
  }
  if (!done) throw std::bad_alloc();
}

}  // namespace dyn::vm
