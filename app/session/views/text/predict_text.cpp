#include <fmt/format.h>

#include "app/session/views/predict_views.h"
#include "app/session/views/text/kernel_text.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

std::string predictionText(const PredictView& v) {
  std::string text = v.dims.empty() ? "" : "with " + joinedWords(v.dims) + " ";
  if (v.refused.empty())
    text += fmt::format("expected: {}, peak {} ({} bytes)\n", durationText(v.timeNs), bytesText(v.peakBytes),
                        v.peakBytes);
  else
    text += "no run: " + v.refused + "\n";
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
  if (!view.refused.empty()) return text;
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
  return (view.others.empty() ? "" : "with " + joinedWords(view.others) + "\n") +
         textTable({view.symbol, ">time", ">peak", "versions"}, rows, options);
}

}  // namespace dyn
