#include "app/session/views/json/json_parts.h"

#include <charconv>

#include "app/engine/run/run_result.h"
#include "app/engine/run/run_statistics.h"
#include "app/session/views/view_json.h"

namespace dyn {

Json dimJson(const std::string& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  return text;
}

Json shapeJson(const std::vector<std::string>& shape) {
  Json list = Json::array();
  for (const std::string& dim : shape) list.push_back(dimJson(dim));
  return list;
}

Json orNull(std::optional<int64_t> value) { return value ? Json(*value) : Json(nullptr); }
Json orNull(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json diagnosticsJson(const std::vector<Diagnostic>& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) list.push_back(toJson(d));
  return list;
}

Json timeJson(const TimeStatistics& time) {
  return {{"runs_count", time.count}, {"median_ns", time.medianNs}, {"spread_ns", orNull(time.spreadNs)}};
}

Json valueJson(const NamedValue& value) {
  Json item = {{"name", value.name}};
  if (value.value.isTensor()) {
    item["dtype"] = std::string(toString(value.value.tensor().dtype()));
    item["shape"] = value.value.tensor().shape();
  } else {
    item["kind"] = toString(value.value.kind());
    item["type"] = value.type;
    item["items_count"] = value.value.parts().size();
  }
  item["file"] = value.file.empty() ? Json(nullptr) : Json(value.file);
  if (!value.partFiles.empty()) item["part_files"] = value.partFiles;
  return item;
}

}  // namespace dyn
