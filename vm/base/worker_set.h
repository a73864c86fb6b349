// WorkerSet: threads that run tasks for the ThreadPools (thread_pool.h) of one or many contexts. Each worker
// waits on one cache line that holds sequence number, function and argument, so that starting it costs one
// line transfer (about 0.1 µs while it spins); after some milliseconds without work it parks. A task that its
// worker has not begun can be taken back: a worker without a core, or one that still wakes up, is not waited
// for. A worker that finds itself on the caller's core goes to another.
//
// Threads: a set that is shared takes calls from any thread. One caller at a time uses a worker: take() lends
// it, and it is given back once its task has ended or was taken back. Who has a set alone may use each worker
// without taking it.
// fork(): the child has no workers. Nothing may run there on a set whose workers had started; dropping such a
// set leaves its memory to the process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace dyn::vm {

// What a worker did of a launch, on the clock of vm/base/clock.h.
struct TaskSpan {
  uint64_t beginNs = 0, endNs = 0;
};

class WorkerSet {
 public:
  using TaskFunction = void (*)(void* argument, uint32_t task);
  using Number = uint16_t;  // of a worker: 0 .. workerCount()-1

  static constexpr uint32_t kMostWorkers = 1023;
  explicit WorkerSet(uint32_t workerCount);  // at most kMostWorkers
  ~WorkerSet();                              // nothing runs
  WorkerSet(const WorkerSet&) = delete;

  uint32_t workerCount() const { return workerCount_; }
  // Starts the threads unless they run. False: the system gives no thread, or no memory for one; those that
  // it gave are started.
  bool start() { return started_.load(std::memory_order_acquire) == workerCount_ || startRest(); }
  uint32_t startedCount() const { return started_.load(std::memory_order_acquire); }

  // A launch of a shared set, while it lasts. take() lends free workers to it, at most `wanted` and its fair
  // share: the workers divided by the launches in progress, at least one. Never waits.
  class Launch {
   public:
    explicit Launch(WorkerSet& set) : set_(set), together_(set.launches_.fetch_add(1) + 1) {}
    ~Launch() { set_.launches_.fetch_sub(1, std::memory_order_relaxed); }
    Launch(const Launch&) = delete;
    uint32_t take(uint32_t wanted, Number* taken);
    void giveBack(const Number* taken, uint32_t count);

   private:
    WorkerSet& set_;
    uint32_t together_;
  };

  // Has the worker run a task. spans: where it notes when it worked, or null. Gives what the other two take.
  uint64_t post(Number worker, TaskFunction function, void* argument, uint32_t task,
                std::vector<TaskSpan>* spans);
  // True: the worker had not begun, and the task is the caller's again.
  bool takeBack(Number worker, uint64_t posted) { return claim(workers_[worker], posted); }
  // Waits for a task that was not taken back. False: it threw.
  bool await(Number worker, uint64_t posted);

  // Runs a task here. False: it threw.
  static bool runsToItsEnd(TaskFunction function, void* argument, uint32_t task);

 private:
  struct alignas(64) Worker {
    // One line: what the worker polls and what it then reads.
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> claimed{0};  // the last task that somebody has begun: the worker or the caller
    TaskFunction function = nullptr;   // null: the worker ends
    void* argument = nullptr;
    std::vector<TaskSpan>* spans = nullptr;
    uint32_t task = 0;
    int core = -1;  // where the caller runs, -1: not known
    alignas(64) std::atomic<uint64_t> done{0};
    bool failed = false;                          // the task threw; read after `done`
    alignas(64) std::atomic<bool> parked{false};  // the worker sleeps until `wake`
    std::atomic<bool> awaited{false};             // the caller sleeps until `finished`
    std::mutex mutex;
    std::condition_variable wake, finished;
    std::thread thread;
  };
  static constexpr uint32_t kWordBits = 64;

  bool startRest();
  static bool claim(Worker& worker, uint64_t sequence);
  static void loop(Worker& worker);

  const uint32_t workerCount_;
  std::unique_ptr<Worker[]> workers_;
  std::mutex starting_;
  std::atomic<uint32_t> started_{0};
  int64_t startedBy_ = 0;                          // the process whose threads they are
  alignas(64) std::atomic<uint32_t> launches_{0};  // in progress
  std::atomic<uint64_t> free_[(kMostWorkers + kWordBits) / kWordBits] = {};  // a bit for each worker
};

}  // namespace dyn::vm
