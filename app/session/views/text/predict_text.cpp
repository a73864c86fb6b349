#include <fmt/format.h>

#include <algorithm>

#include "app/session/views/predict_views.h"
#include "app/session/views/text/kernel_text.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

std::string predictionText(const PredictView& v) {
  std::string text = v.dims.empty() ? "" : "with " + dimValuesText(v.dims) + " ";
  if (!v.whyNoPeak.empty())
    text += "the peak is not known: " + v.whyNoPeak + "\n";
  else if (v.refused.empty())
    text += fmt::format("expected: {}, peak {} ({} bytes)\n", durationText(v.timeNs), bytesText(v.peakBytes),
                        v.peakBytes);
  else
    text += "no run: " + v.refused + "\n";
  if (v.byRuns)
    text += fmt::format("by {} at {} sizes: {}, from {} to {}{}\n",
                        v.byRuns->source == LatencySource::package ? "the package's formula of runs" : "runs",
                        v.byRuns->sizesCount, durationText(v.byRuns->ns), durationText(v.byRuns->lowNs),
                        durationText(v.byRuns->highNs),
                        v.byRuns->outside.empty() ? "" : "; a guess: " + v.byRuns->outside);
  for (const RangeFault& fault : v.outside) text += "  " + fault.text + "\n";
  for (const CheckRow& check : v.checks)
    if (check.fails)
      text += fmt::format("  {} fails, {} against {}: {}; :why {} says more\n", check.name, *check.left,
                          *check.right, check.text, check.name);
  for (const ContractionRow& row : v.kernels.contractions)
    text += "  " + contraction::textOf(row.chosen) + " by " + row.by + ": " +
            shortened(joinedWords(row.values), 60) + "\n";
  return text;
}

}  // namespace

std::string viewText(const PredictView& view, const TextOptions& options) {
  std::string text = predictionText(view);
  if (!view.refused.empty() || view.kernels.rows.empty()) return text;
  return text + boundsText(view.kernels, "expected", options);
}

std::string viewText(const SweepView& view, const TextOptions& options) {
  TextRows rows;
  for (const SweepPoint& p : view.points)
    rows.push_back({std::to_string(p.value), p.timeNs ? durationText(*p.timeNs) : "-",
                    bytesOrDash(p.peakBytes),
                    p.band >= 0 ? view.bands[static_cast<size_t>(p.band)].versions : p.refused});
  for (const MeasuredRun& run : view.measured)
    rows.push_back({std::to_string(run.dims.at(view.symbol)), durationText(run.timeNs),
                    bytesText(run.peakBytes), "measured"});
  return (view.others.empty() ? "" : "with " + dimValuesText(view.others) + "\n") +
         textTable({view.symbol, ">time", ">peak", "versions"}, rows, options);
}

std::string viewText(const LatencyView& view, const TextOptions& options) {
  std::string text = sentence("time = " + view.formula, options);
  if (!view.flops.empty()) text += sentence("flops = " + view.flops, options);
  text += fmt::format("on {}, {}, {} {}\n", view.machine.empty() ? "an unknown processor" : view.machine,
                      view.device, view.threads, view.threads == 1 ? "thread" : "threads");
  text += sentence(
      fmt::format("runs take from {:.2f} to {:.2f} times as long: {} of {} sizes did when the formula "
                  "was made from the others",
                  1 / view.spread, view.spread, view.insideCount, view.rows.size()),
      options);
  for (const std::string& note : view.notes) text += sentence("note: " + note, options);
  TextRows rows;
  for (const LatencyRow& row : view.rows)
    rows.push_back({dimValuesText(row.dims), std::to_string(row.runsCount), durationText(row.measuredNs),
                    durationText(row.leftOutNs),
                    fmt::format("{:+.0f} %", 100.0 * static_cast<double>(row.measuredNs - row.leftOutNs) /
                                                 static_cast<double>(std::max<int64_t>(row.leftOutNs, 1)))});
  text += textTable({"size", ">runs", ">measured", ">by the others", ">off"}, rows, options);
  for (const RefusedSize& size : view.refused)
    text += sentence("not measured: " + dimValuesText(size.dims) + ": " + size.why, options);
  if (!view.file.empty()) text += "wrote " + view.file + "\n";
  return text;
}

}  // namespace dyn
