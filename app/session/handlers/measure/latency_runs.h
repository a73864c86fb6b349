// The formula of the time of a run, from the runs that there are.
#pragma once

#include "app/engine/latency/latency_model.h"
#include "app/session/session_state.h"

namespace dyn {

// What the loaded model's time may depend on, as formulas of these dims.
std::vector<std::string> latencyQuantitiesOf(LoadedModel& model, const std::vector<std::string>& dims);
// From the file of --runs, else from the runs of this session with the same program on this machine.
// Errors: those of the file; usageError where there are too few sizes, saying how they are measured.
Result<LatencyModel> latencyOf(SessionState& state, LoadedModel& model, const Command& command);

}  // namespace dyn
