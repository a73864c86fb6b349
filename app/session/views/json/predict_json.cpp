#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/predict_views.h"

namespace dyn {

namespace {

Json checksJson(const std::vector<CheckRow>& checks) {
  Json list = Json::array();
  for (const CheckRow& check : checks)
    list.push_back({{"name", check.name},
                    {"text", check.text},
                    {"left", orNull(check.left)},
                    {"right", orNull(check.right)},
                    {"fails", check.fails}});
  return list;
}

Json byRunsJson(const std::optional<PredictView::ByRuns>& byRuns) {
  if (!byRuns) return nullptr;
  return {{"time_ns", byRuns->ns},
          {"low_ns", byRuns->lowNs},
          {"high_ns", byRuns->highNs},
          {"sizes_count", byRuns->sizesCount},
          {"formula_by", toString(byRuns->source)},
          {"outside", byRuns->outside.empty() ? Json(nullptr) : Json(byRuns->outside)}};
}

}  // namespace

Json viewJson(const PredictView& view) {
  Json kernels = Json::array();
  for (const KernelRow& k : view.kernels.rows)
    kernels.push_back({{"name", k.name},
                       {"kind", k.kind},
                       {"place", k.place},
                       {"launches_count", k.launchesCount},
                       {"expected_ns", k.totalNs},
                       {"moved_bytes", k.movedBytes},
                       {"operations_count", k.operations},
                       {"bound", k.bound},
                       {"dims", k.dims}});
  return {{"prediction",
           {{"dims", mapJson(view.dims)},
            {"refused", view.refused.empty() ? Json(nullptr) : Json(view.refused)},
            {"checks", checksJson(view.checks)},
            {"time_ns", view.timeNs},
            {"by_runs", byRunsJson(view.byRuns)},
            {"peak_bytes", view.whyNoPeak.empty() ? Json(view.peakBytes) : Json(nullptr)},
            {"limits", view.kernels.limits},
            {"kernels", kernels}}}};
}

Json viewJson(const SweepView& view) {
  Json points = Json::array(), bands = Json::array(), measured = Json::array();
  for (const SweepPoint& p : view.points)
    points.push_back({{"value", p.value},
                      {"time_ns", orNull(p.timeNs)},
                      {"peak_bytes", orNull(p.peakBytes)},
                      {"refused", p.refused.empty() ? Json(nullptr) : Json(p.refused)}});
  for (const SweepBand& band : view.bands)
    bands.push_back({{"from", band.from}, {"to", band.to}, {"versions", band.versions}});
  for (const MeasuredRun& run : view.measured)
    measured.push_back({{"dims", mapJson(run.dims)}, {"time_ns", run.timeNs}, {"peak_bytes", run.peakBytes}});
  return {{"sweep",
           {{"symbol", view.symbol},
            {"others", mapJson(view.others)},
            {"points", points},
            {"bands", bands},
            {"measured", measured}}}};
}

Json viewJson(const LatencyView& view) {
  Json sizes = Json::array(), refused = Json::array();
  for (const LatencyRow& row : view.rows)
    sizes.push_back({{"dims", mapJson(row.dims)},
                     {"runs_count", row.runsCount},
                     {"measured_ns", row.measuredNs},
                     {"left_out_ns", row.leftOutNs}});
  for (const RefusedSize& size : view.refused)
    refused.push_back({{"dims", mapJson(size.dims)}, {"why", size.why}});
  return {{"latency",
           {{"formula", view.formula},
            {"flops", view.flops.empty() ? Json(nullptr) : Json(view.flops)},
            {"spread", view.spread},
            {"machine", view.machine},
            {"device", view.device},
            {"threads_count", view.threads},
            {"inside_count", view.insideCount},
            {"sizes", sizes},
            {"refused", refused},
            {"notes", view.notes},
            {"file", view.file.empty() ? Json(nullptr) : Json(view.file)}}}};
}

}  // namespace dyn
