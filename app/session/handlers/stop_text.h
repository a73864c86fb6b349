// A stop in the words of the program: the line of the source, the names of values, what has changed.
#pragma once

#include <optional>

#include "app/engine/run/run_result.h"
#include "app/session/bound_values.h"
#include "app/session/session_state.h"
#include "app/session/views/stop_views.h"

namespace dyn {

// Names the object registers of a stop, and marks those that the stop before (null: none) did not have so.
void nameRegisters(const LoadedModel& model, const SteppedRun::Stop* before, const SteppedRun::Stop& stop,
                   std::vector<StoppedRegister>& registers);
// The lines of the module's file around the place "mlp.dyn:3:7", or one line that names the node of an ONNX
// file; those that the same kernel computes are marked, too.
std::vector<StopView::SourceLine> sourceAround(const LoadedModel& model, const std::string& place);
// The value of that name where the run stands, in memory of its own: the run's is written to as it goes on.
std::optional<BoundValue> stoppedValue(const SessionState& state, const std::string& name);
std::vector<std::string> stoppedNames(const SessionState& state);

}  // namespace dyn
