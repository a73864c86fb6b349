// Two runs side by side: in all, and by the operations of the model.
#pragma once

#include "app/engine/run/run_record.h"
#include "app/session/views/bench_views.h"
#include "app/session/views/run_views.h"

namespace dyn {

// Places of either run by how much their times differ, greatest first. Of files that differ, operations are
// found again by their names.
RunsView compareRuns(const RunRecord& first, const RunRecord& second);

// Sets the baseline of each row of `bench`, whose runs `made` are: the last run of its sizes. What else is
// not the same becomes a note.
void compareWithBaseline(const std::vector<RunRecord>& baseline, const std::vector<RunRecord>& made,
                         BenchResult& bench);
// What such a comparison ends with: usageError where no sizes were compared, slowerThanBaseline where some
// are slower beyond noise; nothing else.
std::optional<Diagnostic> baselineFault(const BenchResult& bench);

}  // namespace dyn
