// Views as JSON, by the field names of the batch contract: `_ns`, `_bytes`, `_count`; shapes are lists of
// numbers and expressions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/session/views/view.h"
#include "compiler/support/diagnostic.h"

namespace dyn {

// The fields of the view, without the frame ("schema", "command") that batch puts around them. An empty view
// gives {}.
nlohmann::ordered_json toJson(const View& view);
nlohmann::ordered_json toJson(const Diagnostic& diagnostic);  // {"id", "message", "place", "notes"}
// One line, "?" for bytes that are no UTF-8.
std::string jsonText(const nlohmann::ordered_json& document);

}  // namespace dyn
