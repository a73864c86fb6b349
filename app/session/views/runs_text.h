// Lists and comparisons of runs for people.
#pragma once

#include <string>

#include "app/session/views/view_text.h"

namespace dyn {

// "median 1.2 ms, spread 2.1 %"
std::string statisticsText(const TimeStatistics& time);
std::string comparisonText(const RunsView& runs, const TextOptions& options);
std::string runListText(const RunList& list, const TextOptions& options);
// What of a measurement was compared with a baseline.
std::string baselineText(const BenchResult& bench, const TextOptions& options);

}  // namespace dyn
