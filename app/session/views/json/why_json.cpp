#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/why_views.h"

namespace dyn {

namespace {

Json treeJson(const std::vector<WhyStep>& tree) {
  Json list = Json::array();
  for (const WhyStep& step : tree) {
    Json folded = Json::array();
    for (const WhyStep& one : step.folded) folded.push_back(one.text);
    list.push_back({{"text", step.text}, {"depth", step.depth}, {"folded", folded}});
  }
  return list;
}

}  // namespace

Json viewJson(const DimsTable& view) {
  Json list = Json::array();
  for (const DimRow& row : view.rows)
    list.push_back({{"symbol", row.symbol},
                    {"origin", row.origin},
                    {"facts", row.facts},
                    {"low", orNull(row.low)},
                    {"high", orNull(row.high)},
                    {"multiple", row.multiple},
                    {"likely", row.likely},
                    {"uses_count", row.usesCount},
                    {"uses", row.uses}});
  return {{"dims", list}, {"checks", view.checks}};
}

Json viewJson(const WhyView& view) {
  return {{"why",
           {{"question", view.question},
            {"answer", view.answer},
            {"lines", view.lines},
            {"chain", view.chain},
            {"tree", treeJson(view.tree)},
            {"facts", view.facts},
            {"known", view.known},
            {"checks", view.checks},
            {"counterexample", mapJson(view.counterexample)},
            {"shapes", view.shapes},
            {"guard", view.guard.empty() ? Json(nullptr) : Json(view.guard)},
            {"weakest_guard", view.weakestGuard.empty() ? Json(nullptr) : Json(view.weakestGuard)}}}};
}

}  // namespace dyn
