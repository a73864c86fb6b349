#include <fmt/format.h>

#include "app/engine/run/run_result.h"
#include "app/engine/run/run_times.h"
#include "app/session/views/run_views.h"
#include "app/session/views/text/outputs_text.h"
#include "app/session/views/text/runs_text.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

std::string timeLimitText(const RunTimeLimit& limit, size_t runsCount, const TextOptions& options) {
  std::string text = durationText(limit.longestNs);
  if (runsCount > 1) text = fmt::format("{} of {} runs, the longest {}", limit.beyondCount, runsCount, text);
  text = (limit.beyondCount > 0 ? "took longer than the limit of " : "within the limit of ") +
         durationText(limit.limitNs) + ": " + text;
  if (limit.predicted)
    text += fmt::format("; predicted by the {}: {}, from {} to {}{}",
                        limit.predicted->by == "package" ? "package's formula" : "runs",
                        durationText(limit.predicted->ns), durationText(limit.predicted->lowNs),
                        durationText(limit.predicted->highNs),
                        limit.predicted->outside.empty() ? "" : "; a guess: " + limit.predicted->outside);
  else
    text += "; nothing was predicted: " + limit.whyNotPredicted;
  return sentence(text, options);
}

}  // namespace

std::string viewText(const RunResult& view, const TextOptions& options) {
  std::string text;
  if (!view.bench) text += outputsText(view, options);
  if (!view.runsNs.empty() && (view.bench || view.runsNs.size() > 1)) {
    RunTimes all;
    for (const int64_t ns : view.runsNs) all.add(ns);
    text += countText(all.count(), "run");
    if (view.warmupCount > 0) text += fmt::format(" after {} to warm up", view.warmupCount);
    if (all.count() == 1)
      text += ": " + durationText(all.leastNs());
    else
      text += fmt::format(": min {}, {}, p95 {}", durationText(all.leastNs()),
                          statisticsText(statisticsOf(all)), durationText(all.percentileNs(0.95)));
    text += fmt::format("; CPU {} a run\n", durationText(view.cpuNs / all.count()));
    text += fmt::format("peak {}, {} kernel launches, {} system allocations in the last run\n",
                        bytesText(view.peakBytes), view.launchesCount, view.allocationsCount);
  }
  if (view.timeLimit) text += timeLimitText(*view.timeLimit, view.runsNs.size(), options);
  for (const auto& [name, difference] : view.differences)
    text += name + (difference.empty() ? ": as recorded" : ": differs from what is recorded: " + difference) +
            "\n";
  if (view.profile) text += viewText(*view.profile, options);
  if (!view.launches.empty()) text += viewText(sumByKernel(view.launches), options);
  if (!view.profileFile.empty()) text += "trace written to " + view.profileFile + "\n";
  return text;
}

std::string viewText(const PlaceTree& view, const TextOptions& options) {
  TextRows rows;
  std::vector<int> depths;
  for (const PlaceRow& row : view.rows) {
    depths.push_back(row.parent < 0 ? 0 : depths[static_cast<size_t>(row.parent)] + 1);
    const double ns = static_cast<double>(row.totalNs);
    rows.push_back({std::string(2 * static_cast<size_t>(depths.back()), ' ') + shortened(row.label, 44),
                    row.kind, std::to_string(row.launchesCount), durationText(row.totalNs),
                    view.runNs > 0 ? fmt::format("{:.1f}%", 100 * ns / static_cast<double>(view.runNs)) : "-",
                    ns > 0 && row.bytes > 0 ? fmt::format("{:.1f}", row.bytes / ns) : "-",
                    ns > 0 && row.operations > 0 ? fmt::format("{:.1f}", row.operations / ns) : "-"});
  }
  return textTable({"place", "", ">launches", ">time", ">share", ">GB/s", ">GFLOP/s"}, rows, options);
}

}  // namespace dyn
