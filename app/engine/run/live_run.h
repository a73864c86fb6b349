// LiveWatch: looks at a profiled run while it goes on, ten times a second, from a thread beside it.
//
//   LiveWatch watch(context, runsCount, [](const LiveRun& run) { });   // ends when it goes out of scope
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "app/engine/run/run_result.h"
#include "vm/include/dynvm.h"

namespace dyn {

class LiveWatch {
 public:
  using Told = std::function<void(const LiveRun&)>;
  // Called from the thread beside the run, one call at a time, none after the watch has ended. Where the
  // system gives no thread there are no calls: the run goes on without.
  LiveWatch(const dyn_context* context, int64_t runsCount, Told told);
  ~LiveWatch();
  LiveWatch(const LiveWatch&) = delete;
  LiveWatch& operator=(const LiveWatch&) = delete;
  void runDone() { runsDone_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch();
  LiveRun look() const;
  const dyn_context* context_;
  const int64_t runsCount_;
  Told told_;
  std::atomic<int64_t> runsDone_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace dyn
