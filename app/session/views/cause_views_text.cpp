#include "app/session/views/cause_views_text.h"

#include <nlohmann/json.hpp>

#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

using CauseJson = nlohmann::ordered_json;

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

CauseJson changeJson(const RunCauses::Change& change) {
  CauseJson dims = CauseJson::object(), elements = CauseJson::array(), axes = CauseJson::array();
  for (const auto& axis : change.axes)
    axes.push_back({{"input", axis.input}, {"axis", axis.axis}, {"from", axis.from}, {"to", axis.to}});
  for (const auto& [name, value] : change.dims) dims[name] = value;
  for (const auto& element : change.elements)
    elements.push_back(
        {{"input", element.input}, {"index", element.index}, {"from", element.from}, {"to", element.to}});
  return {{"text", change.text},
          {"verified", change.verified.empty() ? CauseJson(nullptr) : CauseJson(change.verified)},
          {"distance", change.distance},
          {"dims", dims},
          {"axes", axes},
          {"elements", elements}};
}

}  // namespace

std::string causesText(const RunCauses& view) {
  std::string text = view.question + " " + visibleLine(view.answer) + "\n";
  for (const auto& culprit : view.culprits) text += "  because " + visibleLine(culprit.text) + "\n";
  for (const auto& change : view.changes)
    text += "  the smallest change: " + visibleLine(change.text) +
            (change.verified.empty() ? " (not verified)" : " (verified " + change.verified + ")") + "\n";
  for (const auto& note : view.notes) text += "  " + visibleLine(note) + "\n";
  if (!view.steps.empty()) text += "how it came:\n";
  for (const auto& step : view.steps)
    text += std::string(2 + 2 * static_cast<size_t>(step.depth), ' ') + visibleLine(step.text) + "\n";
  if (view.leftOutCount > 0) text += "  ... and " + std::to_string(view.leftOutCount) + " more steps\n";
  return text;
}

nlohmann::ordered_json causesJson(const RunCauses& view) {
  CauseJson dims = CauseJson::object(), steps = CauseJson::array(), culprits = CauseJson::array(),
            changes = CauseJson::array();
  for (const auto& [name, value] : view.dims) dims[name] = value;
  for (const auto& step : view.steps) steps.push_back({{"text", step.text}, {"depth", step.depth}});
  for (const auto& culprit : view.culprits) {
    CauseJson item = {{"kind", kindText(culprit.kind)}, {"name", culprit.name}, {"text", culprit.text}};
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
