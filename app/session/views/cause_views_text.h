// Causes in a run as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/session/views/cause_views.h"

namespace dyn {

std::string causesText(const RunCauses& view);
nlohmann::ordered_json causesJson(const RunCauses& view);

}  // namespace dyn
