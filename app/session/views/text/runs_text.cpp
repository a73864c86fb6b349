#include "app/session/views/text/runs_text.h"

#include <fmt/format.h>

#include "app/session/views/bench_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "compiler/support/folders.h"

namespace dyn {

namespace {

std::string timeRatioText(int64_t firstNs, int64_t secondNs) {
  if (firstNs <= 0) return "-";
  return fmt::format("{:.2f}", static_cast<double>(secondNs) / static_cast<double>(firstNs));
}

std::string changeText(TimeChange change) { return change == TimeChange::unknown ? "-" : toString(change); }

std::string notesText(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "  not the same: " + note + "\n";
  return text;
}

}  // namespace

std::string statisticsText(const TimeStatistics& time) {
  const std::optional<double> share = time.spreadShare();
  return "median " + durationText(time.medianNs) +
         (share ? fmt::format(", spread {:.1f} %", 100 * *share) : "");
}

std::string viewText(const RunsView& runs, const TextOptions& options) {
  const auto side = [](const std::string& name, const TimeStatistics& time, int64_t peakBytes) {
    return fmt::format("{}: {} of {}, peak {}\n", name, statisticsText(time), time.count,
                       bytesText(peakBytes));
  };
  const auto time = [](std::optional<int64_t> ns) { return ns ? durationText(*ns) : std::string("-"); };
  TextRows rows;
  rows.push_back({"the whole run", durationText(runs.firstTime.medianNs),
                  durationText(runs.secondTime.medianNs),
                  timeRatioText(runs.firstTime.medianNs, runs.secondTime.medianNs), changeText(runs.change)});
  for (const RunDifference& row : runs.rows)
    rows.push_back({shortened(nodeOf(row.place), 50), time(row.firstNs), time(row.secondNs),
                    row.ratio ? fmt::format("{:.2f}", *row.ratio) : "-", changeText(row.change)});
  return side(runs.first, runs.firstTime, runs.firstPeakBytes) +
         side(runs.second, runs.secondTime, runs.secondPeakBytes) + notesText(runs.notes) +
         textTable({"place", ">first", ">second", ">ratio", "change"}, rows, options);
}

std::string viewText(const RunList& list, const TextOptions& options) {
  if (list.rows.empty()) return "no run yet: :run, :time, :profile and :bench make some\n";
  const std::string& machine = list.rows.front().machine;
  TextRows rows;
  bool isOneMachine = true;
  for (const RunRecord& run : list.rows) {
    isOneMachine = isOneMachine && run.machine == machine;
    const std::optional<double> spread = run.time.spreadShare();
    rows.push_back({std::to_string(run.number),
                    run.isBaseline  ? "baseline"
                    : run.isChecked ? "checked"
                                    : "",
                    shortened(fileNameOf(run.model), 24),
                    shortened(run.pipeline.empty() ? "standard" : run.pipeline, 24),
                    shortened(sizesText(run), 32), shortened(run.inputs.empty() ? "-" : run.inputs, 24),
                    run.threads > 0 ? std::to_string(run.threads) : "-", std::to_string(run.time.count),
                    durationText(run.time.medianNs), spread ? fmt::format("{:.1f} %", 100 * *spread) : "-",
                    bytesText(run.peakBytes), run.from.empty() ? "here" : fileNameOf(run.from)});
  }
  std::string text = textTable({">run", "", "model", "pipeline", "sizes", "inputs", ">threads", ">n",
                                ">median", ">spread", ">peak", "from"},
                               rows, options);
  if (isOneMachine && !machine.empty()) text += "on " + machine + "\n";
  if (list.forgottenCount > 0)
    text += fmt::format("{} older runs are no longer listed\n", list.forgottenCount);
  if (!list.file.empty()) text += "written to " + list.file + "\n";
  return text;
}

std::string baselineText(const BenchResult& bench, const TextOptions& options) {
  TextRows rows;
  for (const BenchRow& row : bench.rows) {
    if (!row.baseline) continue;
    RunRecord sizes;
    sizes.dims = row.dims;
    rows.push_back({sizesText(sizes), statisticsText(*row.baseline),
                    statisticsText({row.runsCount, row.p50Ns, row.spreadNs}),
                    timeRatioText(row.baseline->medianNs, row.p50Ns), changeText(row.change)});
  }
  return "\nagainst " + bench.baselineFile + ":\n" + notesText(bench.baselineNotes) +
         (rows.empty() ? "" : textTable({"shape", "baseline", "now", ">ratio", "change"}, rows, options));
}

}  // namespace dyn
