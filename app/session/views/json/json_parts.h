// Parts of views that several of them have, as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/support/diagnostic.h"

namespace dyn {

struct DeviceCountTable;
struct NamedValue;
struct TimeStatistics;
using Json = nlohmann::ordered_json;

Json dimJson(const std::string& text);  // "59" as 59; "2*seq + 1" stays text
Json shapeJson(const std::vector<std::string>& shape);
Json orNull(std::optional<int64_t> value);
Json orNull(std::optional<double> value);
Json diagnosticsJson(const std::vector<Diagnostic>& diagnostics);
Json timeJson(const TimeStatistics& time);
Json valueJson(const NamedValue& value);  // name, dtype and shape; elements are not in it
Json countsJson(const DeviceCountTable& table);

template <typename Map>
Json mapJson(const Map& map) {
  Json object = Json::object();
  for (const auto& [name, value] : map) object[name] = value;
  return object;
}

}  // namespace dyn
