// A model of the session, read again for some of the passes.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "app/engine/model/loaded_model.h"
#include "app/session/session_state.h"

namespace dyn {

// With the session's options, but the standard pipeline without all passes that are neither required nor
// among these, one program for all sizes, and no placement.
Result<std::unique_ptr<LoadedModel>> readAgain(SessionState& state, const LoadRequest& request,
                                               std::span<const std::string_view> passes);

}  // namespace dyn
