// What launches on the simulated GPU counted, beside the events of the run that launched them.
#pragma once

#include <string>
#include <vector>

#include "app/engine/run/run_result.h"

namespace dyn {

// The names of the kernels, by their rows in the program.
void nameLaunches(const std::vector<std::string>& names, RunResult& run);
// Of each kernel the n-th event of the timeline is its n-th launch. Where there are more of one than of the
// other (a timeline that is cut) nothing is said.
void countsOnTimeline(RunResult& run);
// The Chrome trace with the counters among the arguments of its events, found in the same way.
std::string withCounts(const std::string& trace, const RunResult& run);

}  // namespace dyn
