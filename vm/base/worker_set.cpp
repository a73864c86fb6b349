#include "vm/base/worker_set.h"

#include <algorithm>
#include <bit>
#include <new>
#include <system_error>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

#include "vm/base/clock.h"

namespace dyn::vm {
namespace {

constexpr uint64_t kSpinNs = 2'000'000;
constexpr uint32_t kAwaitSpins = 8'000;      // about 0.2 ms
constexpr size_t kMaximumSpans = 1'000'000;  // of a worker; later ones are not noted

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

int64_t currentProcess() {
#if defined(__unix__) || defined(__APPLE__)
  return getpid();
#else
  return 0;
#endif
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

void noteSpan(std::vector<TaskSpan>& spans, uint64_t beginNs) {
  if (spans.size() >= kMaximumSpans) return;
  try {
    spans.push_back({beginNs, nowNs()});
  } catch (const std::bad_alloc&) {  // then the trace does without it
  }
}

}  // namespace

WorkerSet::WorkerSet(uint32_t workerCount) : workerCount_(std::min(workerCount, kMostWorkers)) {}

WorkerSet::~WorkerSet() {
  if (!workers_) return;
  if (startedBy_ !=
      currentProcess()) {  // after a fork: nobody is there to be joined, or to leave a condition
    static_cast<void>(workers_.release());
    return;
  }
  for (uint32_t i = 0; i < startedCount(); ++i) {
    post(static_cast<Number>(i), nullptr, nullptr, 0, nullptr);
    workers_[i].thread.join();
  }
}

bool WorkerSet::startRest() {
  const std::lock_guard lock(starting_);
  if (!workers_) workers_.reset(new (std::nothrow) Worker[workerCount_]);
  if (!workers_) return false;
  startedBy_ = currentProcess();
  try {  // std::thread has no other way to say that the system gives no thread, or no memory for one
    for (uint32_t i = started_.load(std::memory_order_relaxed); i < workerCount_; ++i) {
      workers_[i].thread = std::thread([worker = &workers_[i]] { loop(*worker); });
      free_[i / kWordBits].fetch_or(uint64_t{1} << i % kWordBits, std::memory_order_release);
      started_.store(i + 1, std::memory_order_release);
    }
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

uint32_t WorkerSet::Launch::take(uint32_t wanted, Number* taken) {
  const uint32_t share = (set_.workerCount_ + together_ - 1) / together_;
  wanted = std::min(wanted, std::max(share, uint32_t{1}));
  uint32_t count = 0;
  for (uint32_t word = 0; word * kWordBits < set_.workerCount_ && count < wanted; ++word) {
    std::atomic<uint64_t>& free = set_.free_[word];
    uint64_t before = free.load(std::memory_order_relaxed), left = 0;
    do {
      left = before;
      for (uint32_t i = count; i < wanted && left != 0; ++i) left &= left - 1;  // without its lowest bits
      if (left == before) break;
    } while (!free.compare_exchange_weak(before, left, std::memory_order_acquire, std::memory_order_relaxed));
    for (uint64_t mine = before & ~left; mine != 0; mine &= mine - 1)
      taken[count++] = static_cast<Number>(word * kWordBits + static_cast<uint32_t>(std::countr_zero(mine)));
  }
  return count;
}

void WorkerSet::Launch::giveBack(const Number* taken, uint32_t count) {
  for (uint32_t i = 0; i < count;) {
    const uint32_t word = taken[i] / kWordBits;
    uint64_t bits = 0;
    for (; i < count && taken[i] / kWordBits == word; ++i) bits |= uint64_t{1} << taken[i] % kWordBits;
    set_.free_[word].fetch_or(bits, std::memory_order_release);
  }
}

uint64_t WorkerSet::post(Number number, TaskFunction function, void* argument, uint32_t task,
                         std::vector<TaskSpan>* spans) {
  Worker& worker = workers_[number];
  worker.function = function;
  worker.argument = argument;
  worker.task = task;
  worker.spans = spans;
  worker.core = currentCore();
  // seq_cst on both sides: either the worker sees the new sequence before it sleeps, or we see that it parks.
  const uint64_t posted = worker.sequence.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (worker.parked.load(std::memory_order_seq_cst)) {
    std::lock_guard lock(worker.mutex);
    worker.wake.notify_one();
  }
  return posted;
}

// One of worker and caller gets each task; a new one is posted only when the last has been run.
bool WorkerSet::claim(Worker& worker, uint64_t sequence) {
  uint64_t before = sequence - 1;
  return worker.claimed.load(std::memory_order_relaxed) == before &&
         worker.claimed.compare_exchange_strong(before, sequence, std::memory_order_acq_rel);
}

// A worker that takes long may wait for this very core: then it is left to it. Not by yielding, which would
// hand the core to any other process.
bool WorkerSet::await(Number number, uint64_t posted) {
  Worker& worker = workers_[number];
  for (uint32_t spins = 0; spins < kAwaitSpins; ++spins) {
    if (worker.done.load(std::memory_order_acquire) == posted) return !worker.failed;
    pause();
  }
  std::unique_lock lock(worker.mutex);
  worker.awaited.store(true, std::memory_order_seq_cst);
  worker.finished.wait(lock, [&] { return worker.done.load(std::memory_order_seq_cst) == posted; });
  worker.awaited.store(false, std::memory_order_relaxed);
  return !worker.failed;
}

void WorkerSet::loop(Worker& worker) {
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
    if (!worker.function) return;
    if (const int core = worker.core; core >= 0 && core == currentCore()) leaveCore(core);
    const uint64_t beginNs = worker.spans ? nowNs() : 0;
    worker.failed = !runsToItsEnd(worker.function, worker.argument, worker.task);
    if (worker.spans) noteSpan(*worker.spans, beginNs);
    worker.done.store(seen, std::memory_order_seq_cst);
    if (worker.awaited.load(std::memory_order_seq_cst)) {
      std::lock_guard lock(worker.mutex);
      worker.finished.notify_one();
    }
  }
}

bool WorkerSet::runsToItsEnd(TaskFunction function, void* argument, uint32_t task) {
  try {
    function(argument, task);
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace dyn::vm
