// What kind of work an event of a run is, and which launches are one row in a profile's table.
#pragma once

#include <cstdint>
#include <string>

#include "app/engine/run/run_result.h"

namespace dyn {

enum class LaunchKind : uint8_t { loop, gemm, attention, convolution, recurrence, other };

// `loop`: of generated kernels.
LaunchKind launchKindOf(const TimelineEvent& event);

// The rows of a table are kernels; but all products are launches of one, as all convolutions and all
// recurrences are: they have a row for each place. That place, or "" for other events.
std::string siteOf(const TimelineEvent& event);

}  // namespace dyn
