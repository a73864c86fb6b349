#include "app/session/views/cause_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

namespace {

const char* kindText(RunCauses::Culprit::Kind kind) {
  switch (kind) {
    case RunCauses::Culprit::Kind::axis:
      return "axis";
    case RunCauses::Culprit::Kind::elements:
      return "elements";
    case RunCauses::Culprit::Kind::constant:
      return "constant";
  }
  return "";
}

Json changeJson(const RunCauses::Change& change) {
  Json dims = Json::object(), elements = Json::array(), axes = Json::array();
  for (const auto& axis : change.axes)
    axes.push_back({{"input", axis.input}, {"axis", axis.axis}, {"from", axis.from}, {"to", axis.to}});
  for (const auto& [name, value] : change.dims) dims[name] = value;
  for (const auto& element : change.elements)
    elements.push_back(
        {{"input", element.input}, {"index", element.index}, {"from", element.from}, {"to", element.to}});
  return {{"text", change.text},
          {"verified", change.verified.empty() ? Json(nullptr) : Json(change.verified)},
          {"distance", change.distance},
          {"dims", dims},
          {"axes", axes},
          {"elements", elements}};
}

}  // namespace

Json viewJson(const RunCauses& view) {
  Json dims = Json::object(), steps = Json::array(), culprits = Json::array(), changes = Json::array();
  for (const auto& [name, value] : view.dims) dims[name] = value;
  for (const auto& step : view.steps) steps.push_back({{"text", step.text}, {"depth", step.depth}});
  for (const auto& culprit : view.culprits) {
    Json item = {{"kind", kindText(culprit.kind)}, {"name", culprit.name}, {"text", culprit.text}};
    if (culprit.kind == RunCauses::Culprit::Kind::axis) {
      item["axis"] = culprit.axis;
      item["size"] = culprit.size;
    }
    if (culprit.kind == RunCauses::Culprit::Kind::elements) {
      item["elements_count"] = culprit.elementsCount;
      item["indices"] = culprit.indices;
    }
    culprits.push_back(std::move(item));
  }
  for (const auto& change : view.changes) changes.push_back(changeJson(change));
  return {{"causes",
           {{"question", view.question},
            {"answer", view.answer},
            {"dims", dims},
            {"culprits", culprits},
            {"changes", changes},
            {"steps", steps},
            {"left_out_count", view.leftOutCount},
            {"notes", view.notes}}}};
}

}  // namespace dyn
