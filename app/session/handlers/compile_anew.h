// Another model, or the same once more by other options.
#pragma once

#include "app/session/session_state.h"

namespace dyn {

// The model of the request becomes that of the session; the one before stays where it cannot be opened.
Status openModel(SessionState& state, LoadRequest request);

// Of a model that has a file; any other stays as it is. What was compiled or warm is forgotten.
Status compileAnew(SessionState& state);

}  // namespace dyn
