// Times of runs, for people.
#pragma once

#include <string>

#include "app/engine/run/run_statistics.h"
#include "app/session/views/view_text.h"

namespace dyn {

struct BenchResult;

// "median 1.2 ms, spread 2.1 %"
std::string statisticsText(const TimeStatistics& time);
// What of a measurement was compared with a baseline.
std::string baselineText(const BenchResult& bench, const TextOptions& options);

}  // namespace dyn
