// Inputs that do not fit together: which axes, and the nearest sizes with which the model runs.
#pragma once

#include "app/session/session_state.h"
#include "app/session/views/cause_views.h"

namespace dyn {

// Of the inputs that `command` gives, which were refused. Adds culprits, and changes that a run verified.
Status explainRefusedInputs(SessionState& state, LoadedModel& model, const Command& command,
                            RunCauses& causes);

}  // namespace dyn
