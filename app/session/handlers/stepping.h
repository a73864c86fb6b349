// Steps of a run, for the commands that have other meanings, too.
#pragma once

#include "app/session/session_state.h"
#include "app/session/views/view.h"

namespace dyn {

// Precondition: state.debug.
Result<View> stepRun(SessionState& state, StepBy by, int64_t count);

}  // namespace dyn
