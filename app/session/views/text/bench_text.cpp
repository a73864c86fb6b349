#include <fmt/format.h>

#include "app/session/views/bench_views.h"
#include "app/session/views/text/runs_text.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

std::string viewText(const BenchResult& view, const TextOptions& options) {
  TextRows rows;
  auto add = [&](const BenchRow& row, const std::string& name) {
    rows.push_back({name, std::to_string(row.runsCount), durationText(row.minNs), durationText(row.p50Ns),
                    durationText(row.p90Ns), durationText(row.p99Ns),
                    row.gflops ? fmt::format("{:.2f}", *row.gflops) : "-",
                    row.gigabytesPerSecond ? fmt::format("{:.2f}", *row.gigabytesPerSecond) : "-"});
  };
  for (const BenchRow& row : view.rows) add(row, row.dims.empty() ? "(fixed)" : dimValuesText(row.dims));
  if (view.rows.size() > 1) add(view.overall, "all");
  std::string text =
      textTable({"shape", ">runs", ">min", ">p50", ">p90", ">p99", ">GFLOP/s", ">GB/s"}, rows, options);
  if (!view.file.empty()) text += "runs written to " + view.file + "\n";
  return view.baselineFile.empty() ? text : text + baselineText(view, options);
}

namespace {

std::string loadsText(const ServeResult& view, const TextOptions& options) {
  TextRows rows;
  std::vector<std::string> titles = {">requests/s", ">p50", ">p99", ">rejected"};
  if (!view.alone.empty())
    titles = {">requests/s", ">joined p50", ">p99", ">rejected", ">one by one p50", ">p99", ">rejected"};
  const auto add = [](std::vector<std::string>& row, const LoadPoint& point) {
    row.insert(row.end(),
               {point.p50Ns > 0 ? durationText(point.p50Ns) : "-",
                point.p99Ns > 0 ? durationText(point.p99Ns) : "-", std::to_string(point.rejectedCount)});
  };
  for (size_t i = 0; i < view.loads.size(); ++i) {
    std::vector<std::string> row = {rateText(view.loads[i].perSecond)};
    add(row, view.loads[i]);
    if (i < view.alone.size()) add(row, view.alone[i]);
    rows.push_back(std::move(row));
  }
  return textTable(titles, rows, options) + "wrote " + view.plotFile + "\n";
}

}  // namespace

namespace {

// "98.2 % in time (20.0 ms): 3 late, 2 not begun, 13 refused; time = 0.4 ms + 12 us*seq"
std::string deadlineText(const ServeResult& view) {
  if (view.deadlineNs == 0) return "";
  const double share = view.requestsCount == 0 ? 100
                                               : 100 * static_cast<double>(view.inTimeCount()) /
                                                     static_cast<double>(view.requestsCount);
  std::string text = fmt::format("{:.1f} % in time ({}): {} late, {} not begun", share,
                                 durationText(view.deadlineNs), view.lateCount, view.expiredCount);
  if (!view.admissionText.empty())
    text += fmt::format(", {} refused at once; {}", view.infeasibleCount, view.admissionText);
  return text + "\n";
}

}  // namespace

std::string viewText(const ServeResult& view, const TextOptions& options) {
  std::string text = fmt::format("{} requests in {} s, {:.1f} answered a second", view.requestsCount,
                                 view.seconds, view.throughputPerSecond);
  if (view.rejectedCount > 0)
    text += fmt::format("; {} were rejected: the queue was full", view.rejectedCount);
  text += fmt::format("\nwaiting and running: p50 {}, p90 {}, p99 {}\n", durationText(view.p50Ns),
                      durationText(view.p90Ns), durationText(view.p99Ns));
  text += fmt::format("{} runs, p50 {}, busy {:.0f} % of the time; at most {} waited\n", view.runsCount,
                      durationText(view.runP50Ns), 100 * view.busyShare, view.longestLineCount);
  text += deadlineText(view);
  if (!view.plotFile.empty()) text += loadsText(view, options);
  if (!view.batching) return text;
  if (view.batch.empty()) return text + view.comparedText + "\n";
  const double each = view.runsCount == 0
                          ? 0
                          : static_cast<double>(view.completedCount) / static_cast<double>(view.runsCount);
  return text + fmt::format("joined along {}{}: {:.1f} requests in a run{}\n", view.batch,
                            view.sequence.empty() ? ", of equal sizes"
                                                  : ", of different " + view.sequence + " by " + view.lengths,
                            each, view.comparedText.empty() ? "" : "; " + view.comparedText);
}

}  // namespace dyn
