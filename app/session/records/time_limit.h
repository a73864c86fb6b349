// Limits of the time of runs, by a formula: what stays within, and what becomes of a run that does not.
#pragma once

#include "app/engine/run/run_result.h"
#include "app/session/answers/limit_view.h"
#include "app/session/records/latency_runs.h"

namespace dyn {

// By the upper end of the interval: the answer is to hold. Nothing beyond the sizes that were measured.
// `peakOf` says whether there is a run of some sizes at all.
Result<LimitView> timeLimitView(LoadedModel& model, const KnownLatency& latency, const DimValues& dims,
                                Limit limit, const CostOfDims& peakOf);

// --limit of a run, a time: what the formula says of it; without the option: nothing. Error timeBeyondLimit:
// even the lower end of the interval is above the limit; its notes have the largest sizes that stay within.
// Without a formula of this place the run is begun, and `whyNotPredicted` says so.
Result<std::optional<RunTimeLimit>> timeLimitOf(SessionState& state, const Command& command,
                                                const PreparedRun& prepared);
// Compares the times of the run.
void compareTimes(RunResult& result);

}  // namespace dyn
