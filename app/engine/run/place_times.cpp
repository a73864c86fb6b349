#include "app/engine/run/place_times.h"

#include <algorithm>
#include <map>

namespace dyn {

namespace {

// The calls of the main function, ascending. What comes before them (constants are made by another function)
// is no repetition.
std::vector<const TimelineEvent*> repetitionsOf(const TraceEvents& trace) {
  std::vector<const TimelineEvent*> functions;
  for (const TimelineEvent& event : trace.events)
    if (event.kind == "function" && event.thread == 1) functions.push_back(&event);
  std::stable_sort(functions.begin(), functions.end(), [](const TimelineEvent* a, const TimelineEvent* b) {
    return a->beginNs != b->beginNs ? a->beginNs < b->beginNs : a->durationNs > b->durationNs;
  });
  std::vector<const TimelineEvent*> outermost;
  for (const TimelineEvent* function : functions)
    if (outermost.empty() || function->beginNs >= outermost.back()->beginNs + outermost.back()->durationNs)
      outermost.push_back(function);
  std::erase_if(outermost, [last = outermost.empty() ? nullptr : outermost.back()](
                               const TimelineEvent* function) { return function->name != last->name; });
  return outermost;
}

}  // namespace

std::vector<PlaceTime> placeTimes(const TraceEvents& trace) {
  std::vector<int64_t> begins;
  for (const TimelineEvent* repetition : repetitionsOf(trace)) begins.push_back(repetition->beginNs);
  if (begins.empty()) begins.push_back(INT64_MIN);
  const size_t count = trace.isCut && begins.size() > 1 ? begins.size() - 1 : begins.size();
  std::map<std::string, std::vector<int64_t>> times;  // by place; of each repetition
  for (const TimelineEvent& event : trace.events) {
    if (holdsOthers(event) || event.place.empty()) continue;
    const auto next = std::upper_bound(begins.begin(), begins.end(), event.beginNs);
    const auto repetition = static_cast<size_t>(next - begins.begin());
    if (repetition == 0 || repetition > count) continue;
    std::vector<int64_t>& ofPlace = times[event.place];
    ofPlace.resize(count, 0);
    ofPlace[repetition - 1] += event.durationNs;
  }
  std::vector<PlaceTime> places;
  for (const auto& [place, ofPlace] : times) places.push_back({place, {}, statisticsOf(ofPlace)});
  return places;
}

std::vector<int64_t> repetitionTimes(const TraceEvents& trace) {
  std::vector<int64_t> times;
  if (const std::vector<const TimelineEvent*> all = repetitionsOf(trace); all.size() > 1) {
    for (const TimelineEvent* repetition : all) times.push_back(repetition->durationNs);
    if (trace.isCut) times.pop_back();
    return times;
  }
  int64_t beginNs = INT64_MAX, endNs = INT64_MIN;
  for (const TimelineEvent& event : trace.events) {
    beginNs = std::min(beginNs, event.beginNs);
    endNs = std::max(endNs, event.beginNs + event.durationNs);
  }
  if (!trace.events.empty()) times.push_back(endNs - beginNs);
  return times;
}

}  // namespace dyn
