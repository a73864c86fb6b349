// ThreadPool: fork-join over a few threads: the calling one and workers (worker_set.h), which are the pool's
// own or shared with pools of other contexts. A task that its worker has not begun when the caller is done
// with its own runs on the caller. One pool per context; with one thread there are no workers and nothing
// ever spins.
//
// On shared workers a run asks for those that are free, at most its fair share, and never waits for more: its
// tasks are taken one after the other by the workers that it got and by the caller. How a run is cut into
// tasks depends on threadCount() alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vm/base/worker_set.h"

namespace dyn::vm {

class ThreadPool {
 public:
  // Workers are started by the first parallel run. threadCount counts the calling thread.
  explicit ThreadPool(uint32_t threadCount);
  ThreadPool(uint32_t threadCount, std::shared_ptr<WorkerSet> shared);
  // A lane of `whole`: threadCount of its threads from number `first` on, for whoever runs on the first of
  // them (runLanes).
  ThreadPool(const ThreadPool& whole, uint32_t first, uint32_t threadCount);
  ThreadPool(const ThreadPool&) = delete;

  uint32_t threadCount() const { return threadCount_; }

  using TaskFunction = WorkerSet::TaskFunction;
  // Runs task 0 .. taskCount-1, taskCount ≤ threadCount(), task 0 on the calling thread; returns when all are
  // done. When workers cannot be started the tasks run here one after the other. A task that throws
  // (std::bad_alloc of its own memory) ends alone; when all are done std::bad_alloc is thrown here.
  void run(uint32_t taskCount, TaskFunction function, void* argument);
  // Runs task i on the first thread of lanes[i], all at the same time; each may run tasks on its own lane.
  // The lanes are of this pool and share no thread; the first begins with the calling one.
  void runLanes(std::span<const std::unique_ptr<ThreadPool>> lanes, TaskFunction function, void* argument);

  // From the next run on workers note when they work (watch(true) forgets what they noted before). Tasks that
  // the caller runs itself are not noted. Both while nothing runs.
  void watch(bool on);
  std::vector<std::vector<TaskSpan>> spans() const { return spans_; }  // by worker, ascending

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
  bool runInTurn(uint32_t taskCount, TaskFunction function, void* argument,
                 std::span<const std::unique_ptr<ThreadPool>> lanes);
  bool runOnOwn(uint32_t taskCount, TaskFunction function, void* argument,
                std::span<const std::unique_ptr<ThreadPool>> lanes);
  bool runOnShared(uint32_t taskCount, TaskFunction function, void* argument);
  std::vector<TaskSpan>* spansOf(uint32_t worker) { return watched_ ? &spans_[worker] : nullptr; }

  uint32_t threadCount_;
  uint32_t first_ = 0;  // of the threads of the whole: the calling one is 0, worker i is i+1
  bool isShared_ = false;
  bool watched_ = false, simulated_ = false;
  int64_t savedNs_ = 0;
  std::shared_ptr<WorkerSet> workers_;        // null: one thread
  std::vector<WorkerSet::Number> taken_;      // by task that is posted
  std::vector<uint64_t> posted_;              // by task that is posted
  std::vector<std::vector<TaskSpan>> spans_;  // by worker; empty until they are watched
};

}  // namespace dyn::vm
