// ThreadPool: fork-join over a few threads. Each worker waits on one cache line that holds sequence number,
// function and argument, so that starting it costs one line transfer (about 0.1 µs while it spins); after
// some milliseconds without work it parks. A task that its worker has not begun when the caller is done with
// its own runs on the caller: a worker without a core, or one that still wakes up, is not waited for. A
// worker that finds itself on the caller's core goes to another. One pool per context; with one thread there
// are no workers and nothing ever spins.
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

class ThreadPool {
 public:
  // Workers are started by the first parallel run. threadCount counts the calling thread.
  explicit ThreadPool(uint32_t threadCount);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  uint32_t threadCount() const { return threadCount_; }

  using TaskFunction = void (*)(void* argument, uint32_t task);
  // Runs task 0 .. taskCount-1, taskCount ≤ threadCount(), task 0 on the calling thread; returns when all are
  // done. When workers cannot be started the tasks run here one after the other. A task that throws
  // (std::bad_alloc of its own memory) ends alone; when all are done std::bad_alloc is thrown here.
  void run(uint32_t taskCount, TaskFunction function, void* argument);

  // From the next run on workers note when they work (watch(true) forgets what they noted before). Tasks that
  // the caller runs itself are not noted. Both while nothing runs.
  void watch(bool on);
  std::vector<std::vector<TaskSpan>> spans() const;  // by worker, ascending

  // From the next run on tasks run here, one after the other, and clockNs() says how late it would be had
  // each had a core of its own: it counts what this thread computes, of a launch's tasks the longest, and
  // what starting them takes. Caches and memory are this core's: what cores lose by sharing them is not in
  // it. While nothing runs.
  void simulate(bool on) { simulated_ = on; }
  // The clock of runs: that of vm/base/clock.h where threads are real.
  uint64_t clockNs() const;

  // body(begin, end) over a static split of [0, extent) into at most `tasks` nearly equal pieces.
  template <typename Body>
  void split(int64_t extent, uint32_t tasks, Body&& body) {
    if (tasks > extent) tasks = static_cast<uint32_t>(extent);
    if (tasks > threadCount_) tasks = threadCount_;
    if (tasks <= 1) {
      if (extent > 0) body(int64_t{0}, extent);
      return;
    }
    struct Work {
      Body* body;
      int64_t extent;
      int64_t tasks;
    } work{&body, extent, tasks};
    run(
        tasks,
        [](void* argument, uint32_t task) {
          const Work& w = *static_cast<Work*>(argument);
          const int64_t base = w.extent / w.tasks, more = w.extent % w.tasks;
          const int64_t begin = base * task + (task < more ? task : more);
          (*w.body)(begin, begin + base + (task < more ? 1 : 0));
        },
        &work);
  }

 private:
  struct alignas(64) Worker {
    // One line: what the worker polls and what it then reads.
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> claimed{0};  // the last task that somebody has begun: the worker or the caller
    TaskFunction function = nullptr;
    void* argument = nullptr;
    uint32_t task = 0;
    int core = -1;  // where the caller runs, -1: not known
    bool stop = false;
    bool watched = false;
    std::vector<TaskSpan> spans;  // its own while it works
    alignas(64) std::atomic<uint64_t> done{0};
    bool failed = false;                          // the task threw; read after `done`
    alignas(64) std::atomic<bool> parked{false};  // the worker sleeps until `wake`
    std::atomic<bool> awaited{false};             // the caller sleeps until `finished`
    std::mutex mutex;
    std::condition_variable wake, finished;
    std::thread thread;
  };
  bool start();
  bool runInTurn(uint32_t taskCount, TaskFunction function, void* argument);
  static bool runsToItsEnd(TaskFunction function, void* argument, uint32_t task);
  void post(Worker& worker, TaskFunction function, void* argument, uint32_t task, bool stop);
  static bool claim(Worker& worker, uint64_t sequence);
  static void await(Worker& worker, uint64_t sequence);
  static void loop(Worker& worker);
  static void noteSpan(std::vector<TaskSpan>& spans, uint64_t beginNs);

  static constexpr size_t kMaximumSpans = 1'000'000;  // of a worker; later ones are not noted
  uint32_t threadCount_;
  bool watched_ = false, simulated_ = false;
  int64_t savedNs_ = 0;
  std::unique_ptr<Worker[]> workers_;
  uint32_t started_ = 0;
};

}  // namespace dyn::vm
