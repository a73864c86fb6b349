// The times of a profiled run's operations over its repetitions.
#pragma once

#include <vector>

#include "app/engine/run/run_record.h"
#include "app/engine/run/trace_file.h"

namespace dyn {

// A repetition is a call of the program's main function. By place, what was launched there takes so long in
// one repetition; members are not filled in. Of a trace that was cut the last repetition is left out; without
// any function the trace is one repetition.
std::vector<PlaceTime> placeTimes(const TraceEvents& trace);
// How long each repetition took; of a trace without any function, or of one repetition, the whole trace.
std::vector<int64_t> repetitionTimes(const TraceEvents& trace);

}  // namespace dyn
