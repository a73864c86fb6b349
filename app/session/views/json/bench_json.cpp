#include "app/session/views/bench_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

namespace {

Json benchRow(const BenchRow& row) {
  Json item = {{"dims", mapJson(row.dims)},  {"runs_count", row.runsCount},
               {"min_ns", row.minNs},        {"p50_ns", row.p50Ns},
               {"p90_ns", row.p90Ns},        {"p99_ns", row.p99Ns},
               {"mean_ns", row.meanNs},      {"spread_ns", orNull(row.spreadNs)},
               {"peak_bytes", row.peakBytes}};
  item["gflops"] = row.gflops ? Json(*row.gflops) : Json(nullptr);
  item["gigabytes_per_second"] = row.gigabytesPerSecond ? Json(*row.gigabytesPerSecond) : Json(nullptr);
  if (row.baseline) {
    item["baseline"] = timeJson(*row.baseline);
    item["change"] = toString(row.change);
  }
  return item;
}

}  // namespace

Json viewJson(const BenchResult& view) {
  Json shapes = Json::array();
  for (const BenchRow& row : view.rows) shapes.push_back(benchRow(row));
  Json json = {{"shapes", shapes},
               {"overall", benchRow(view.overall)},
               {"load_ns", view.loadNs},
               {"compile_ns", view.compileNs},
               {"kernels_compiled_count", view.kernelsCompiledCount}};
  if (!view.file.empty()) json["file"] = view.file;
  if (!view.baselineFile.empty()) {
    json["baseline_file"] = view.baselineFile;
    json["baseline_notes"] = view.baselineNotes;
  }
  return json;
}

static Json loadsJson(const std::vector<LoadPoint>& loads) {
  Json list = Json::array();
  for (const LoadPoint& point : loads)
    list.push_back({{"rate_per_s", point.perSecond},
                    {"throughput_per_s", point.throughputPerSecond},
                    {"p50_ns", point.p50Ns > 0 ? Json(point.p50Ns) : Json(nullptr)},
                    {"p99_ns", point.p99Ns > 0 ? Json(point.p99Ns) : Json(nullptr)},
                    {"rejected_count", point.rejectedCount}});
  return list;
}

Json viewJson(const ServeResult& view) {
  Json deadline = nullptr;
  if (view.deadlineNs > 0)
    deadline = {{"deadline_ns", view.deadlineNs},
                {"in_time_count", view.inTimeCount()},
                {"late_count", view.lateCount},
                {"expired_count", view.expiredCount},
                {"infeasible_count", view.infeasibleCount},
                {"admission", view.admissionText.empty() ? Json(nullptr) : Json(view.admissionText)}};
  Json batching = nullptr;
  if (view.batching)
    batching = {{"dim", view.batch.empty() ? Json(nullptr) : Json(view.batch)},
                {"sequence", view.sequence.empty() ? Json(nullptr) : Json(view.sequence)},
                {"lengths", view.lengths.empty() ? Json(nullptr) : Json(view.lengths)},
                {"compared", view.comparedText}};
  return {{"rate_per_s", view.perSecond},
          {"seconds", view.seconds},
          {"batching", batching},
          {"requests_count", view.requestsCount},
          {"completed_count", view.completedCount},
          {"rejected_count", view.rejectedCount},
          {"runs_count", view.runsCount},
          {"longest_line_count", view.longestLineCount},
          {"p50_ns", view.p50Ns},
          {"p90_ns", view.p90Ns},
          {"p99_ns", view.p99Ns},
          {"mean_ns", view.meanNs},
          {"run_p50_ns", view.runP50Ns},
          {"throughput_per_s", view.throughputPerSecond},
          {"busy_share", view.busyShare},
          {"deadline", deadline},
          {"load_ns", view.loadNs},
          {"compile_ns", view.compileNs},
          {"kernels_compiled_count", view.kernelsCompiledCount},
          {"plot", view.plotFile.empty() ? Json(nullptr) : Json(view.plotFile)},
          {"loads", loadsJson(view.loads)},
          {"alone", loadsJson(view.alone)}};
}

}  // namespace dyn
