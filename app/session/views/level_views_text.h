// Levels of nodes and sequences of a run, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/engine/run/level_loops.h"
#include "app/session/views/view_text.h"

namespace dyn {

// More than a page of levels or sequences stand together, neighbours in one line, unless view.all.
std::string levelsText(const LevelsView& view, const TextOptions& options);
// All of them: "loops", "sequences".
nlohmann::ordered_json levelsJson(const LevelsView& view);

}  // namespace dyn
