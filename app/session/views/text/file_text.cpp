#include <fmt/format.h>

#include "app/session/views/file_views.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/view_text.h"
#include "compiler/support/visible_text.h"

namespace dyn {

std::string viewText(const CacheView& view, const TextOptions&) {
  if (view.directory == "none") return "there is no cache: --cache-dir DIR names one\n";
  std::string text = view.directory + "\n";
  if (!view.refusal.empty()) text += "  not used: " + view.refusal + "\n";
  int64_t bytes = 0;
  for (const CacheView::Row& row : view.rows) {
    bytes += row.bytes;
    text += fmt::format("  {:<10} {:>6}  {}\n", row.kind, row.filesCount, bytesText(row.bytes));
  }
  if (view.done == CacheView::Done::cleared) return text + fmt::format("removed {}\n", bytesText(bytes));
  for (const std::string& file : view.damaged) text += "  damaged, removed: " + file + "\n";
  if (view.done == CacheView::Done::verified && view.damaged.empty()) text += "  all files are whole\n";
  return text;
}

namespace {

std::string certificateLine(std::optional<int64_t> openObligations, const std::string& file) {
  if (!openObligations) return "";
  if (*openObligations == 0) return "certified\n";
  return fmt::format("partly certified, open obligations: {} (dynrepl verify-package {})\n", *openObligations,
                     file);
}

}  // namespace

std::string viewText(const CompileResult& view, const TextOptions&) {
  std::string text = fmt::format("{} kernels, {} compiled now; passes {}, lowering {}, code {}\n",
                                 view.kernelsCount, view.kernelsCompiledCount, durationText(view.passesNs),
                                 durationText(view.lowerNs), durationText(view.compileNs));
  if (!view.file.empty()) text += fmt::format("wrote {} ({})\n", view.file, bytesText(view.fileBytes));
  return text + certificateLine(view.openObligations, view.file);
}

std::string viewText(const ExportResult& view, const TextOptions&) {
  std::string text;
  for (const ExportResult::File& file : view.files)
    text += fmt::format("wrote {} ({})\n", file.path, bytesText(file.bytes));
  text += fmt::format("for {}: weights {}, runtime, code and tables {}\n", view.target,
                      bytesText(view.weightsBytes), bytesText(view.runtimeBytes));
  return text + certificateLine(view.openObligations, view.files.empty() ? "" : view.files[0].path);
}

std::string viewText(const SaveResult& view, const TextOptions&) {
  std::string text;
  for (const ExportResult::File& file : view.files)
    text += fmt::format("wrote {} ({})\n", file.path, bytesText(file.bytes));
  std::string sets;
  for (const auto& [domain, version] : view.opsets)
    sets += fmt::format("{}{} {}", sets.empty() ? "" : ", ", domain.empty() ? "opset" : domain, version);
  const std::string which = view.step ? fmt::format("after {} (step {})", view.stepName, *view.step)
                                      : "simplified, after " + view.stepName;
  text += fmt::format("the graph {}: {} nodes, {}\n", which, view.nodesCount, sets);
  for (const SaveResult::PassedOver& step : view.passedOver)
    text += fmt::format("not after {}: {}\n", step.step, step.reason);
  for (const auto& [op, count] : view.leftOut)
    text += fmt::format("left out: {} x {} (:ops {}), ONNX has no such check\n", count, op, op);
  return text;
}

std::string viewText(const InferResult& view, const TextOptions&) {
  std::string text = fmt::format("wrote {} ({})\n", view.file.path, bytesText(view.file.bytes));
  text += fmt::format(
      "{} of {} values have a type; their dims: {} numbers, {} formulas, {} known only in a run\n",
      view.typedCount, view.valuesCount, view.numberDimsCount, view.formulaDimsCount, view.unknownDimsCount);
  for (const std::string& name : view.untyped) text += "no type: " + name + "\n";
  return text;
}

std::string viewText(const GeneraliseResult& view, const TextOptions&) {
  std::string text;
  if (view.file) text += fmt::format("wrote {} ({})\n", view.file->path, bytesText(view.file->bytes));
  text += fmt::format("{} {}\n", view.changes.size(), view.changes.size() == 1 ? "change" : "changes");
  for (const auto& change : view.changes) {
    text += fmt::format("  {}\n    {}{}: {}\n", visibleLine(change.place), change.doubtful ? "perhaps: " : "",
                        visibleLine(change.what), visibleLine(change.why));
  }
  for (const auto& refused : view.refused)
    text += fmt::format("not opened: {}: {}\n", visibleLine(refused.place), visibleLine(refused.why));
  for (const auto& [name, most] : view.limits) text += fmt::format("{} is at most {}\n", name, most);
  if (view.file)
    text += fmt::format("at {} the results are equal {}\n", dimValuesText(view.sizes),
                        view.sameBits ? "bit by bit" : "but for rounding");
  for (const auto& trial : view.trials)
    text += fmt::format("at {} it {}\n", dimValuesText(trial.sizes),
                        trial.failure.empty() ? "runs" : "does not run: " + visibleLine(trial.failure));
  return text;
}

std::string viewText(const ReportResult& view, const TextOptions&) {
  std::string text = fmt::format("wrote {} ({}): {} passes, {} kernels\n", view.file.path,
                                 bytesText(view.file.bytes), view.passesCount, view.kernelsCount);
  if (!view.whyNoRun.empty()) text += "without a run: " + view.whyNoRun + "\n";
  return text;
}

}  // namespace dyn
