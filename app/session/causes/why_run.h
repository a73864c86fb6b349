// The answers of `:why` of a run: a size, an element or a failure, walked back to the inputs, with the
// smallest change that gives another one, which is verified by a run.
//
//   :why y.0 --run              why is the size what it was in the last run?
//   :why y[2,5] --dim seq=7     why is the element what it is in this run?
//   :why y[nan] --dim seq=7     which is the first that is not finite, and what made it?
//   :why failure                why did the last run fail?
//   :why y.0 --want 60          which change of the inputs makes it 60?
#pragma once

#include "app/session/command.h"
#include "app/session/session_state.h"
#include "app/session/views/cause_views.h"

namespace dyn {

// Errors: textName for a value or element that is not there; usageError where there is no run to ask about;
// unsupportedFeature for a package, and for runs of ragged sequences.
Result<RunCauses> whyOfRun(SessionState& state, const Command& why);

}  // namespace dyn
