// What becomes of a run that would need more memory than the session allows.
#pragma once

#include "app/session/session_state.h"

namespace dyn {

// Leaves the run as it is where it stays within the limit. Else the model is compiled anew to take less memory for these dims, and runs that
// way where this suffices. Error memoryLimit: the run is not begun; it names the peak. Where the need is not known before, the program itself
// keeps to the limit.
Status keepWithinLimit(SessionState& state, PreparedRun& prepared);

}  // namespace dyn
