#include "app/session/views/file_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

Json viewJson(const CacheView& view) {
  Json kinds = Json::array();
  for (const CacheView::Row& row : view.rows)
    kinds.push_back({{"kind", row.kind}, {"files_count", row.filesCount}, {"bytes", row.bytes}});
  Json json = {{"directory", view.directory == "none" ? Json(nullptr) : Json(view.directory)},
               {"refusal", view.refusal.empty() ? Json(nullptr) : Json(view.refusal)},
               {view.done == CacheView::Done::cleared ? "removed" : "files", kinds}};
  if (view.done == CacheView::Done::verified) json["damaged"] = view.damaged;
  return json;
}

Json viewJson(const CompileResult& view) {
  return {{"file", view.file.empty() ? Json(nullptr) : Json(view.file)},
          {"file_bytes", view.fileBytes},
          {"passes_ns", view.passesNs},
          {"lower_ns", view.lowerNs},
          {"compile_ns", view.compileNs},
          {"kernels_count", view.kernelsCount},
          {"kernels_compiled_count", view.kernelsCompiledCount},
          {"constants_bytes", view.constantsBytes},
          {"open_obligations", orNull(view.openObligations)}};
}

Json viewJson(const ExportResult& view) {
  Json files = Json::array();
  for (const ExportResult::File& file : view.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}});
  return {{"kind", view.kind},
          {"files", files},
          {"target", view.target},
          {"ram_bound_bytes", orNull(view.ramBoundBytes)},
          {"weights_bytes", view.weightsBytes},
          {"runtime_bytes", view.runtimeBytes},
          {"entry_points", view.entryPoints},
          {"open_obligations", orNull(view.openObligations)}};
}

Json viewJson(const SaveResult& view) {
  Json files = Json::array(), passedOver = Json::array();
  for (const ExportResult::File& file : view.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}});
  for (const SaveResult::PassedOver& step : view.passedOver)
    passedOver.push_back({{"pass", step.step}, {"reason", step.reason}});
  return {{"files", files},
          {"step", orNull(view.step)},
          {"pass", view.stepName},
          {"nodes_count", view.nodesCount},
          {"weights_bytes", view.weightsBytes},
          {"opsets", view.opsets},
          {"left_out", view.leftOut},
          {"passed_over", passedOver}};
}

Json viewJson(const InferResult& view) {
  return {{"files", Json::array({{{"path", view.file.path}, {"bytes", view.file.bytes}}})},
          {"values_count", view.valuesCount},
          {"typed_count", view.typedCount},
          {"dims",
           {{"numbers_count", view.numberDimsCount},
            {"formulas_count", view.formulaDimsCount},
            {"unknown_count", view.unknownDimsCount}}},
          {"untyped", view.untyped}};
}

Json viewJson(const GeneraliseResult& view) {
  Json files = Json::array(), changes = Json::array(), refused = Json::array(), trials = Json::array();
  if (view.file) files.push_back({{"path", view.file->path}, {"bytes", view.file->bytes}});
  for (const auto& change : view.changes)
    changes.push_back({{"place", change.place},
                       {"op", change.op},
                       {"what", change.what},
                       {"why", change.why},
                       {"doubtful", change.doubtful}});
  for (const auto& one : view.refused)
    refused.push_back({{"place", one.place}, {"op", one.op}, {"why", one.why}});
  for (const auto& trial : view.trials)
    trials.push_back(
        {{"dims", mapJson(trial.sizes)}, {"runs", trial.failure.empty()}, {"failure", trial.failure}});
  return {{"files", files},
          {"changes", changes},
          {"refused", refused},
          {"example", mapJson(view.sizes)},
          {"same_bits", view.file ? Json(view.sameBits) : Json(nullptr)},
          {"limits", mapJson(view.limits)},
          {"trials", trials}};
}

Json viewJson(const ReportResult& view) {
  return {{"files", Json::array({{{"path", view.file.path}, {"bytes", view.file.bytes}}})},
          {"passes_count", view.passesCount},
          {"kernels_count", view.kernelsCount},
          {"dims", mapJson(view.dims)},
          {"no_run", view.whyNoRun.empty() ? Json(nullptr) : Json(view.whyNoRun)}};
}

}  // namespace dyn
