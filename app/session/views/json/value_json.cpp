#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/value_views.h"

namespace dyn {

Json viewJson(const TensorView& view) {
  Json picture;
  if (!view.pictureAxes.empty())
    picture = {{"axes", view.pictureAxes},       {"rows", view.pictureRows},
               {"columns", view.pictureColumns}, {"channels", view.pictureChannels},
               {"black", view.pictureFrom},      {"white", view.pictureTo}};
  return {{"tensor",
           {{"name", view.name},
            {"dtype", view.dtype},
            {"shape", view.shape},
            {"from", view.from},
            {"size_bytes", view.sizeBytes},
            {"nan_count", view.nanCount},
            {"infinity_count", view.infinityCount},
            {"zero_count", view.zeroCount},
            {"min", orNull(view.least)},
            {"max", orNull(view.largest)},
            {"mean", orNull(view.mean)},
            {"deviation", orNull(view.deviation)},
            {"histogram", view.histogram},
            {"picture", std::move(picture)},
            {"file", view.file.empty() ? Json(nullptr) : Json(view.file)}}}};
}

Json viewJson(const EvalResult& view) {
  Json values = Json::array();
  for (const NamedValue& value : view.values) {
    Json item = valueJson(value);
    item["text"] = value.value.toString(64);
    values.push_back(std::move(item));
  }
  return {{"values", values}};
}

Json viewJson(const TypeView& view) { return {{"expression", view.expression}, {"type", view.type}}; }

Json viewJson(const VariableTable& view) {
  Json list = Json::array();
  for (const auto& row : view.rows)
    list.push_back({{"name", row.name}, {"type", row.type}, {"size_bytes", row.sizeBytes}});
  return {{"values", list}};
}

}  // namespace dyn
