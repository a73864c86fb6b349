// Records of the runs that commands make, for the list of runs.
#pragma once

#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "app/session/session_state.h"
#include "app/session/views/view.h"

namespace dyn {

// The percentage of --max-spread; 0 without it. Errors: usageError.
Result<double> mostSpreadOf(const Command& command);
// Times, sizes and peak of a run, without where it came from.
RunRecord timesOf(const RunResult& run);
// Of the loaded model: one for all of its runs.
std::shared_ptr<FileDigest> modelFileOf(SessionState& state);
// What a run of the loaded model by that command was made with: model, pipeline, settings, inputs, machine.
// `times` has the rest.
RunRecord recordOf(SessionState& state, const Command& command, RunRecord times,
                   const std::vector<std::string>& randomInputs);
// The runs of a file that this machine, device and number of threads can be compared with. Errors:
// fileFormat; usageError where there is none.
Result<std::vector<RunRecord>> comparableRuns(SessionState& state, const Command& command,
                                              const std::string& path);
// Keeps the record of a measurement, or of a run with all that is known of it; the first time that an older
// one goes for it, this is said.
int64_t keep(SessionState& state, RunRecord record);
int64_t keep(SessionState& state, RunRecord record, std::shared_ptr<const RunResult> run,
             std::weak_ptr<const CompiledModel> program);

// :compare of two runs that are kept.
Result<View> compareKeptRuns(SessionState& state, const Command& command);

}  // namespace dyn
