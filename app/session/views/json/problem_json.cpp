#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/view_json.h"

namespace dyn {

Json viewJson(const ProblemList& view) {
  Json json = {{"problems", diagnosticsJson(view.problems)},
               {"problems_count", view.problems.size()},
               {"warnings", diagnosticsJson(view.warnings)},
               {"warnings_count", view.warnings.size()},
               {"unsupported_ops", mapJson(view.unsupportedOps)}};
  if (!view.sizes) return json;
  Json findings = Json::array();
  for (const SizeFinding& finding : view.sizes->findings) {
    Json one = toJson(finding.diagnostic);
    one["proved_to_fail"] = finding.diagnostic.severity == Severity::error;
    one["demand"] = finding.demand;
    one["op"] = finding.diagnostic.op;
    one["sizes"] = mapJson(finding.sizes);
    const auto source = view.sources.find(finding.diagnostic.place.node.str());
    if (source != view.sources.end())
      one["source"] = {
          {"file", source->second.file}, {"line", source->second.line}, {"code", source->second.code}};
    findings.push_back(std::move(one));
  }
  json["assumed"] = view.sizes->assumed;
  json["findings"] = std::move(findings);
  json["checks_count"] = view.sizes->checksCount;
  json["proved_count"] = view.sizes->provedCount;
  json["further_count"] = view.sizes->furtherCount;
  return json;
}

Json viewJson(const VerifyResult& view) {
  return {{"name", view.name},     {"status", toString(view.status)},
          {"reason", view.reason}, {"op", view.op},
          {"id", view.code},       {"data_sets_count", view.dataSetsCount}};
}

}  // namespace dyn
