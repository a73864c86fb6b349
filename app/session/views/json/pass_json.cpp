#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/pass_views.h"

namespace dyn {

Json viewJson(const PassList& view) {
  Json list = Json::array();
  for (const PassRow& row : view.rows) {
    Json item = {{"name", row.name},
                 {"kind", row.kind},
                 {"time_ns", row.timeNs},
                 {"changed", row.changed},
                 {"ops_count", row.opsAfter},
                 {"ops_before_count", row.opsBefore},
                 {"solver_steps", row.solverSteps},
                 {"counters", mapJson(row.counters)},
                 {"remarks", row.remarks}};
    if (row.dearestSteps > 0)
      item["most_solver_steps"] = {{"op", row.dearestOp}, {"solver_steps", row.dearestSteps}};
    if (row.failed) item["problems"] = diagnosticsJson(row.diagnostics);
    list.push_back(std::move(item));
  }
  return {{"passes", list}, {"pipeline", view.pipeline}};
}

Json viewJson(const DiffView& view) {
  Json lines = Json::array();
  for (const DiffLine& line : view.lines)
    lines.push_back({{"kind", toString(line.kind)},
                     {"before", line.before},
                     {"after", line.after},
                     {"what", line.what},
                     {"function", line.function}});
  return {{"from", view.fromName},
          {"to", view.toName},
          {"added_count", view.addedCount},
          {"removed_count", view.removedCount},
          {"changed_count", view.changedCount},
          {"unchanged_count", view.unchangedCount},
          {"lines", lines}};
}

Json viewJson(const BisectView& view) {
  auto rowJson = [](const BisectRow& row) {
    return Json{{"index", row.step},
                {"name", row.name},
                {"by", row.by},
                {"verdict", row.verdict},
                {"difference", row.difference}};
  };
  Json steps = Json::array(), inputs = Json::array();
  for (const BisectRow& row : view.rows) steps.push_back(rowJson(row));
  for (const auto& [name, file] : view.reducedInputs) inputs.push_back({{"name", name}, {"file", file}});
  Json json = {{"steps", steps}, {"first_wrong", view.first ? rowJson(*view.first) : Json(nullptr)}};
  if (view.first) json["in_compilation"] = view.inCompilation;
  if (!view.reduced.empty())
    json["reduced"] = {{"ops_count", view.reducedOpsCount},
                       {"of_ops_count", view.opsCount},
                       {"file", view.reducedFile.empty() ? Json(nullptr) : Json(view.reducedFile)},
                       {"inputs", inputs},
                       {"again", view.again},
                       {"text", view.reduced}};
  return json;
}

}  // namespace dyn
