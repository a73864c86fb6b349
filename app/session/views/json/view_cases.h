// The fields of each kind of view as JSON, a function for each row of views.def.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dyn {

#define DYN_VIEW(kind) \
  struct kind;         \
  nlohmann::ordered_json viewJson(const kind& view);
#include "app/session/views/views.def"
#undef DYN_VIEW

}  // namespace dyn
