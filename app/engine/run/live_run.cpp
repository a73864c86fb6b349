#include "app/engine/run/live_run.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "app/engine/run/thread_start.h"

namespace dyn {

namespace {

constexpr std::chrono::milliseconds kBetween{100};

}  // namespace

LiveWatch::LiveWatch(const dyn_context* context, int64_t runsCount, Told told)
    : context_(context), runsCount_(runsCount), told_(std::move(told)) {
  (void)startThread(thread_, [this] { watch(); });
}

LiveWatch::~LiveWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LiveWatch::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kBetween, [this] { return ends_; })) {
    lock.unlock();
    told_(look());
    lock.lock();
  }
}

LiveRun LiveWatch::look() const {
  std::vector<dyn_progress> rows(static_cast<size_t>(dyn_context_progress(context_, nullptr, 0)));
  dyn_context_progress(context_, rows.data(), static_cast<int32_t>(rows.size()));
  LiveRun run;
  run.runsDone = runsDone_.load(std::memory_order_relaxed);
  run.runsCount = runsCount_;
  std::map<std::string, int64_t> byPlace;
  uint64_t least = UINT64_MAX, most = 0;
  for (const dyn_progress& row : rows) {
    run.operationsDone += row.count > 0 || row.is_latest;
    if (row.is_latest) {
      run.place = row.place;
      run.timesHere = std::max<int64_t>(1, static_cast<int64_t>(row.count));
    }
    if (row.total_ns > 0 && *row.place) byPlace[row.place] += static_cast<int64_t>(row.total_ns);
    if (row.count == 0) continue;
    least = std::min(least, row.count);
    most = std::max(most, row.count);
  }
  run.operationsCount = static_cast<int64_t>(rows.size());
  run.hasLoops = most > least + 1;
  for (auto& [place, timeNs] : byPlace) run.times.push_back({place, {}, timeNs});
  return run;
}

}  // namespace dyn
