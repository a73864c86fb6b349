// The report page: one HTML file that holds its styles, scripts and data, and opens without a network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dyn {

// `data`: as reportData() makes it. No text of it can end the element that it stands in.
std::string reportPage(const nlohmann::ordered_json& data);

}  // namespace dyn
