#include "vm/base/thread_pool.h"

#include <algorithm>
#include <new>
#include <system_error>
#if defined(__linux__)
#include <sched.h>
#include <time.h>
#endif

#include "vm/base/clock.h"

namespace dyn::vm {
namespace {

constexpr uint64_t kSpinNs = 2'000'000;
constexpr uint32_t kAwaitSpins = 8'000;  // about 0.2 ms
// Of a simulated run: the caller posts one worker after the other, a line comes to the worker's core, and its
// line of what is done comes back. As between two cores of one socket, while the workers spin.
constexpr int64_t kPostNs = 50, kArrivalNs = 100, kReturnNs = 50;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int currentCore() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

// What this thread has computed: time in which others had its core does not count.
int64_t computedNs() {
#if defined(__linux__)
  timespec time;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
#endif
  return static_cast<int64_t>(nowNs());
}

// To another core of those this thread may use. On a busy machine the system wakes a worker on the core of
// who wakes it, and leaves it there for some milliseconds, in which one of the two waits for the other.
void leaveCore([[maybe_unused]] int core) {
#if defined(__linux__)
  cpu_set_t allowed;
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<size_t>(core), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed,
                    &allowed);  // it has moved; from here on it may go where the system wants
#endif
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threadCount) : threadCount_(threadCount == 0 ? 1 : threadCount) {}

ThreadPool::~ThreadPool() {
  for (uint32_t i = 0; i < started_; ++i) {
    post(workers_[i], nullptr, nullptr, 0, true);
    workers_[i].thread.join();
  }
}

bool ThreadPool::start() {
  if (!workers_) workers_.reset(new (std::nothrow) Worker[threadCount_ - 1]);
  if (!workers_) return false;
  try {  // std::thread has no other way to say that the system gives no thread, or no memory for one
    for (; started_ + 1 < threadCount_; ++started_)
      workers_[started_].thread = std::thread([worker = &workers_[started_]] { loop(*worker); });
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void ThreadPool::post(Worker& worker, TaskFunction function, void* argument, uint32_t task, bool stop) {
  worker.function = function;
  worker.argument = argument;
  worker.task = task;
  worker.stop = stop;
  worker.watched = watched_;
  worker.core = currentCore();
  // seq_cst on both sides: either the worker sees the new sequence before it sleeps, or we see that it parks.
  worker.sequence.fetch_add(1, std::memory_order_seq_cst);
  if (worker.parked.load(std::memory_order_seq_cst)) {
    std::lock_guard lock(worker.mutex);
    worker.wake.notify_one();
  }
}

// One of worker and caller gets each task; a new one is posted only when the last has been run.
bool ThreadPool::claim(Worker& worker, uint64_t sequence) {
  uint64_t before = sequence - 1;
  return worker.claimed.load(std::memory_order_relaxed) == before &&
         worker.claimed.compare_exchange_strong(before, sequence, std::memory_order_acq_rel);
}

// A worker that takes long may wait for this very core: then it is left to it. Not by yielding, which would
// hand the core to any other process.
void ThreadPool::await(Worker& worker, uint64_t sequence) {
  for (uint32_t spins = 0; spins < kAwaitSpins; ++spins) {
    if (worker.done.load(std::memory_order_acquire) == sequence) return;
    pause();
  }
  std::unique_lock lock(worker.mutex);
  worker.awaited.store(true, std::memory_order_seq_cst);
  worker.finished.wait(lock, [&] { return worker.done.load(std::memory_order_seq_cst) == sequence; });
  worker.awaited.store(false, std::memory_order_relaxed);
}

void ThreadPool::watch(bool on) {
  watched_ = on;
  if (!on || !workers_) return;
  for (uint32_t i = 0; i + 1 < threadCount_; ++i) workers_[i].spans.clear();
}

std::vector<std::vector<TaskSpan>> ThreadPool::spans() const {
  std::vector<std::vector<TaskSpan>> all;
  for (uint32_t i = 0; i < started_; ++i) all.push_back(workers_[i].spans);
  return all;
}

void ThreadPool::noteSpan(std::vector<TaskSpan>& spans, uint64_t beginNs) {
  if (spans.size() >= kMaximumSpans) return;
  try {
    spans.push_back({beginNs, nowNs()});
  } catch (const std::bad_alloc&) {  // then the trace does without it
  }
}

void ThreadPool::loop(Worker& worker) {
  uint64_t seen = 0;
  for (;;) {
    const uint64_t deadline = nowNs() + kSpinNs;
    uint32_t spins = 0;
    while (worker.sequence.load(std::memory_order_acquire) == seen) {
      pause();
      if (++spins % 256 != 0 || nowNs() < deadline) continue;
      std::unique_lock lock(worker.mutex);
      worker.parked.store(true, std::memory_order_seq_cst);
      worker.wake.wait(lock, [&] { return worker.sequence.load(std::memory_order_seq_cst) != seen; });
      worker.parked.store(false, std::memory_order_relaxed);
    }
    seen = worker.sequence.load(std::memory_order_acquire);
    if (!claim(worker, seen)) continue;  // the caller has it: nothing but `sequence` may be read here
    if (worker.stop) return;
    if (const int core = worker.core; core >= 0 && core == currentCore()) leaveCore(core);
    const uint64_t beginNs = worker.watched ? nowNs() : 0;
    worker.failed = !runsToItsEnd(worker.function, worker.argument, worker.task);
    if (worker.watched) noteSpan(worker.spans, beginNs);
    worker.done.store(seen, std::memory_order_seq_cst);
    if (worker.awaited.load(std::memory_order_seq_cst)) {
      std::lock_guard lock(worker.mutex);
      worker.finished.notify_one();
    }
  }
}

bool ThreadPool::runsToItsEnd(TaskFunction function, void* argument, uint32_t task) {
  try {
    function(argument, task);
    return true;
  } catch (...) {
    return false;
  }
}

uint64_t ThreadPool::clockNs() const {
  return simulated_ ? static_cast<uint64_t>(computedNs() - savedNs_) : nowNs();
}

bool ThreadPool::runInTurn(uint32_t taskCount, TaskFunction function, void* argument) {
  bool done = true;
  int64_t togetherNs = 0;
  const int64_t beginNs = computedNs();
  for (uint32_t task = 0; task < taskCount; ++task) {
    const int64_t before = computedNs();
    done = runsToItsEnd(function, argument, task) && done;
    const int64_t ownNs = computedNs() - before;
    const int64_t beginsNs = task == 0 ? (taskCount - 1) * kPostNs : int64_t{task} * kPostNs + kArrivalNs;
    togetherNs = std::max(togetherNs, beginsNs + ownNs);
  }
  savedNs_ += computedNs() - beginNs - togetherNs - (taskCount - 1) * kReturnNs;
  return done;
}

void ThreadPool::run(uint32_t taskCount, TaskFunction function, void* argument) {
  if (simulated_ && taskCount > 1) {
    if (!runInTurn(taskCount, function, argument)) throw std::bad_alloc();
    return;
  }
  if (taskCount > 1 && started_ + 1 < threadCount_ && !start()) {
    for (uint32_t task = 0; task < taskCount; ++task) function(argument, task);
    return;
  }
  for (uint32_t task = 1; task < taskCount; ++task) post(workers_[task - 1], function, argument, task, false);
  // Whatever happens here, the others still use what `argument` points to until they are done.
  bool failed = !runsToItsEnd(function, argument, 0);
  for (uint32_t task = 1; task < taskCount; ++task) {
    Worker& worker = workers_[task - 1];
    const uint64_t wanted = worker.sequence.load(std::memory_order_relaxed);
    if (claim(worker, wanted)) {
      failed = !runsToItsEnd(function, argument, task) || failed;
      continue;
    }
    await(worker, wanted);
    failed = failed || worker.failed;
  }
  if (failed) throw std::bad_alloc();
}

}  // namespace dyn::vm
