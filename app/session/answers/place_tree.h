// Where a profiled run spent its time, by the modules and operations of the model.
#pragma once

#include "app/engine/run/run_result.h"
#include "app/session/views/run_views.h"

namespace dyn {

// A part of a run, by when things began.
struct TimeRange {
  int64_t beginNs = INT64_MIN, endNs = INT64_MAX;
  bool holds(const TimelineEvent& event) const { return event.beginNs >= beginNs && event.beginNs < endNs; }
};

// The rows of all that lies above an operation hold the sums of what lies below. Time between launches is a
// row "gaps".
PlaceTree placeTree(const RunResult& run, TimeRange range = {});
// The times of that part, as RunResult::nodeTimes has those of the whole.
std::vector<NodeTime> nodeTimes(const RunResult& run, TimeRange range);

}  // namespace dyn
