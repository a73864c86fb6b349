// The median of a run's repetitions. Apart from the history of runs: exported programs need it, too, and have
// no compiler.
#pragma once

#include "app/engine/run/run_result.h"

namespace dyn {

int64_t medianNs(const RunResult& run);  // 0 without repetitions

}  // namespace dyn
