#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/memory_views.h"

namespace dyn {

Json viewJson(const PlanView& view) {
  Json arenas = Json::array(), buffers = Json::array();
  for (const PlanArena& a : view.arenas)
    arenas.push_back({{"function", a.function},
                      {"size", a.bytes},
                      {"size_bytes", orNull(a.sizeBytes)},
                      {"slots_count", a.slotsCount}});
  for (const PlanBuffer& b : view.buffers) {
    Json item = {{"name", b.name},
                 {"function", b.function},
                 {"dtype", b.dtype},
                 {"shape", shapeJson(b.shape)},
                 {"pooled", b.pooled}};
    item["offset"] = b.pooled ? Json(nullptr) : dimJson(b.offset);
    item["offset_bytes"] = orNull(b.offsetBytes);
    item["size"] = dimJson(b.bytes);
    item["size_bytes"] = orNull(b.sizeBytes);
    item["slot"] = b.slot;
    item["begin"] = b.begin;
    item["end"] = b.end;
    buffers.push_back(std::move(item));
  }
  Json plan = {{"dims", mapJson(view.dims)},
               {"arenas", arenas},
               {"buffers", buffers},
               {"peak", dimJson(view.peak)},
               {"predicted_peak_bytes", orNull(view.predictedPeakBytes)},
               {"constants_bytes", view.constantsBytes}};
  plan["copies_count"] = view.copiesCount;
  plan["copied"] = dimJson(view.copied);
  plan["copied_bytes"] = orNull(view.copiedBytes);
  if (!view.whyNoPeak.empty()) plan["why_no_peak"] = view.whyNoPeak;
  return {{"plan", plan}};
}

Json viewJson(const LimitView& view) {
  Json rows = Json::array();
  for (const LimitRow& row : view.rows)
    rows.push_back({{"symbol", row.symbol},
                    {"largest", orNull(row.largest)},
                    {"peak_bytes", orNull(row.peakBytes)},
                    {"time_ns", orNull(row.timeNs)},
                    {"others", mapJson(row.others)},
                    {"end", row.end}});
  const bool isTime = view.limitNs > 0;
  return {{"limit",
           {{"limit_bytes", isTime ? Json(nullptr) : Json(view.limitBytes)},
            {"limit_ns", isTime ? Json(view.limitNs) : Json(nullptr)},
            {"formula", isTime ? Json(view.formula) : Json(nullptr)},
            {"formula_by", isTime ? Json(toString(view.source)) : Json(nullptr)},
            {"outside", view.outside.empty() ? Json(nullptr) : Json(view.outside)},
            {"dims", mapJson(view.dims)},
            {"largest", rows}}}};
}

}  // namespace dyn
