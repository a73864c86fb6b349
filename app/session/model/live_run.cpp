#include "app/session/model/live_run.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace dyn {

namespace {

constexpr std::chrono::milliseconds kBetween{100};

constexpr size_t kMostOfPlace = 40;  // its right end says more

std::string shortened(const std::string& place) {
  if (place.size() <= kMostOfPlace) return place;
  size_t begin = place.size() - kMostOfPlace;
  while (begin < place.size() && (static_cast<unsigned char>(place[begin]) & 0xC0) == 0x80) ++begin;
  return "..." + place.substr(begin);
}

}  // namespace

LiveWatch::LiveWatch(const dyn_context* context, int64_t runsCount, Told told)
    : context_(context), runsCount_(runsCount), told_(std::move(told)), thread_([this] { watch(); }) {}

LiveWatch::~LiveWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
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

std::string textOf(const LiveRun& run) {
  std::string text;
  if (run.runsCount > 1)
    text = "run " + std::to_string(std::min(run.runsDone + 1, run.runsCount)) + " of " +
           std::to_string(run.runsCount) + ", ";
  text += "operation " + std::to_string(run.operationsDone) + " of " + std::to_string(run.operationsCount);
  if (!run.place.empty()) text += ", now " + shortened(run.place);
  if (run.timesHere > run.runsDone + 1) text += ", iteration " + std::to_string(run.timesHere);
  return text;
}

double fractionOf(const LiveRun& run) {
  if (run.runsCount > 1) return static_cast<double>(run.runsDone) / static_cast<double>(run.runsCount);
  if (run.hasLoops || run.operationsCount == 0) return -1;
  return static_cast<double>(run.operationsDone) / static_cast<double>(run.operationsCount);
}

}  // namespace dyn
