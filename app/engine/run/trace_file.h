// Chrome traces: what the VM writes of a profiled run, and what `:profile FILE` left in a file, here or on
// another machine.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/run/run_result.h"
#include "compiler/support/result.h"

namespace dyn {

struct TraceEvents {
  std::vector<TimelineEvent> events;  // complete ones ("ph": "X") in their order
  bool isCut = false;                 // there were more than are recorded
  std::map<int, std::string> lanes;   // names of threads
  DimValues dims;                     // of the run, where signTrace() wrote them
  int64_t peakBytes = 0;
  std::vector<LevelLoop> levels;  // apart from the events, which may be cut
  Caches caches;                  // where there are levels
};

// The trace with the run's dims and peak in it ("otherData").
std::string signTrace(const std::string& text, const RunResult& run);

// Errors: fileError for what is no JSON with a list of `traceEvents`.
Result<TraceEvents> readTrace(std::string_view text);

// The first events, with their times from the beginning of the first one on, and all times by place.
void setTimeline(const std::vector<TimelineEvent>& events, RunResult& result);

// Rows of contractions that ran at several places become a row for each, where all of their launches are
// among these events. The rows then stand by their time, the longest first.
void splitBySite(const std::vector<TimelineEvent>& events, KernelTable& table);

// Calls of functions, iterations of loops and the shares of workers: time of other events once more. What
// runs on a device is none of them: the launch on the host's thread only puts it there.
bool holdsOthers(const TimelineEvent& event);

// A run as its events tell it: timeline, times by place, kernels with their launches.
RunResult runOfTrace(const TraceEvents& trace);

}  // namespace dyn
