// The model once more, by other options.
#pragma once

#include "app/session/session_state.h"

namespace dyn {

// Of a model that has a file; any other stays as it is. What was compiled or warm is forgotten.
Status compileAnew(SessionState& state);

}  // namespace dyn
