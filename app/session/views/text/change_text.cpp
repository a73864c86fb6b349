#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/session/views/change_views.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

constexpr size_t kMostShown = 20;  // of each kind of change

size_t shownCount(size_t count, const TextOptions& options) {
  return options.full ? count : std::min(count, kMostShown);
}

std::string furtherText(size_t count, const TextOptions& options) {
  const size_t shown = shownCount(count, options);
  return shown < count ? fmt::format("  ... and {} more\n", count - shown) : "";
}

std::string formulaText(const ModelDifference::FormulaChange& change) {
  std::string text = "  " + change.of + (change.name.empty() ? "" : " " + visibleLine(change.name));
  if (change.before.empty()) return text + " added: " + visibleLine(change.after) + "\n";
  if (change.after.empty()) return text + " removed: " + visibleLine(change.before) + "\n";
  return text + "\n    - " + visibleLine(change.before) + "\n    + " + visibleLine(change.after) + "\n";
}

std::string formulasText(const std::vector<ModelDifference::FormulaChange>& changes,
                         const TextOptions& options) {
  std::string text;
  for (size_t i = 0; i < shownCount(changes.size(), options); ++i) text += formulaText(changes[i]);
  return text + furtherText(changes.size(), options);
}

std::string opText(const ModelDifference::OpChange& change) {
  const char* sign = change.change == "added" ? "+" : change.change == "removed" ? "-" : "~";
  std::string text = fmt::format("  {} {} {}\n", sign, change.op, visibleLine(change.value));
  for (const std::string& what : change.what) text += "      " + visibleLine(what) + "\n";
  return text;
}

std::string weightText(const ModelDifference::WeightChange& change) {
  const std::string name = visibleLine(change.name);
  if (change.change == "added" || change.change == "removed")
    return fmt::format("  {} {} {}\n", change.change == "added" ? "+" : "-", name, change.type);
  std::string text = "  ~ " + name;
  if (change.otherName != change.name) text += " -> " + visibleLine(change.otherName);
  if (change.type != change.otherType)
    return text + ": " + change.type + " becomes " + change.otherType + "\n";
  return text + fmt::format(" {}: {}, largest difference {:.3g}, relative {:.3g}\n", change.type,
                            change.change, change.maxAbs, change.relative);
}

std::string indexText(const std::vector<int64_t>& index) {
  std::string text;
  for (const int64_t position : index) text += (text.empty() ? "" : ", ") + std::to_string(position);
  return "[" + text + "]";
}

// Those with the largest errors, the first that goes wrong, and the last.
std::vector<char> shownValues(const ValueComparison& view, const TextOptions& options) {
  const size_t count = view.values.size();
  if (options.full || count <= 2 * kMostShown) return std::vector<char>(count, 1);
  std::vector<char> isShown(count);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto error = [&](size_t i) {
    return view.values[i].mismatch.empty() ? view.values[i].maxRelative : HUGE_VAL;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return error(a) > error(b); });
  for (size_t i = 0; i < kMostShown; ++i) isShown[order[i]] = 1;
  isShown.back() = 1;
  if (view.firstWrong) isShown[*view.firstWrong] = 1;
  return isShown;
}

int64_t changedWeightsCount(const ModelDifference& view, const char* change) {
  return std::count_if(view.weights.begin(), view.weights.end(),
                       [&](const auto& weight) { return weight.change == change; });
}

std::string timesText(const ModelDifference& view, const TextOptions& options) {
  TextRows rows;
  std::string refused;
  for (const ModelDifference::TimeChange& change : view.times) {
    const std::string sizes = dimValuesText(change.dims);
    const std::optional<double> ratio = change.ratio();
    const auto time = [&](bool isRefused, int64_t ns) { return isRefused ? "no run" : durationText(ns); };
    const auto peak = [&](bool isRefused, int64_t bytes) { return isRefused ? "" : bytesText(bytes); };
    const bool noBefore = !change.beforeRefused.empty(), noAfter = !change.afterRefused.empty();
    rows.push_back({sizes, time(noBefore, change.beforeNs), time(noAfter, change.afterNs),
                    ratio ? fmt::format("{:.2f}", *ratio) : "", peak(noBefore, change.beforePeakBytes),
                    peak(noAfter, change.afterPeakBytes)});
    for (const std::string& why : {change.beforeRefused, change.afterRefused})
      if (!why.empty()) refused += "  no run with " + sizes + ": " + visibleLine(why) + "\n";
  }
  if (rows.empty()) return "";
  return "predicted runs:\n" +
         textTable({"sizes", ">time before", ">after", ">ratio", ">peak before", ">after"}, rows, options) +
         refused;
}

}  // namespace

std::string viewText(const ModelDifference& view, const TextOptions& options) {
  std::string text = fmt::format("{} -> {}\n", visibleLine(view.before), visibleLine(view.after));
  if (view.seen.empty())
    text += "shapes, peak and checks: nothing changed in what callers see\n";
  else
    text += fmt::format("shapes, peak and checks: {} changed\n", view.seen.size());
  text += formulasText(view.seen, options);
  for (const auto& [name, other] : view.renamedDims)
    text += "  dim " + visibleLine(name) + " is called " + visibleLine(other) + "\n";
  text += timesText(view, options);
  text +=
      fmt::format("operators: {} equal, {} changed, added or removed\n", view.sameOpsCount, view.ops.size());
  for (size_t i = 0; i < shownCount(view.ops.size(), options); ++i) text += opText(view.ops[i]);
  text += furtherText(view.ops.size(), options);
  text +=
      fmt::format("weights: {} equal, {} close, {} different, {} added, {} removed\n", view.sameWeightsCount,
                  changedWeightsCount(view, "close"), changedWeightsCount(view, "different"),
                  changedWeightsCount(view, "added"), changedWeightsCount(view, "removed"));
  for (size_t i = 0; i < shownCount(view.weights.size(), options); ++i) text += weightText(view.weights[i]);
  text += furtherText(view.weights.size(), options);
  if (!view.inner.empty()) {
    text += fmt::format("shapes of inner values: {} changed\n", view.inner.size());
    text += formulasText(view.inner, options);
  }
  if (view.renamedValuesCount > 0)
    text += fmt::format("{} values have other names\n", view.renamedValuesCount);
  return text;
}

std::string viewText(const ValueComparison& view, const TextOptions& options) {
  std::string text = fmt::format("{} beside {}", visibleLine(view.after), visibleLine(view.before));
  if (!view.dims.empty()) text += " with " + dimValuesText(view.dims);
  text += fmt::format("\n{} values, {} beyond {:g} of their tensor\n", view.values.size(), view.wrongCount,
                      view.relativeTolerance);
  TextRows rows;
  const std::vector<char> isShown = shownValues(view, options);
  for (size_t i = 0; i < view.values.size(); ++i) {
    if (!isShown[i]) continue;
    const ValueError& value = view.values[i];
    std::vector<std::string> row = {value.isWrong ? "!" : "", visibleLine(value.name), value.op, value.shape};
    if (value.mismatch.empty())
      row.insert(row.end(), {fmt::format("{:.3g}", value.maxAbs), fmt::format("{:.3g}", value.maxRelative),
                             fmt::format("{:.3g}", value.relative), indexText(value.worstIndex)});
    else
      row.insert(row.end(), {"", "", "", visibleLine(value.mismatch)});
    rows.push_back(std::move(row));
  }
  const size_t left = view.values.size() - rows.size();
  text += textTable({"", "value", "operator", "shape", ">max abs", ">max rel", ">relative", "worst at"}, rows,
                    options);
  if (left > 0) text += fmt::format("... and {} with smaller errors; --json has all of them\n", left);
  if (view.unmatchedCount > 0)
    text += fmt::format("{} values are of one of the two alone\n", view.unmatchedCount);
  if (view.firstWrong) {
    const ValueError& first = view.values[*view.firstWrong];
    text += fmt::format("the first that goes wrong: {} ({})", visibleLine(first.name), first.op);
    if (!first.place.empty()) text += " at " + visibleLine(first.place);
    if (first.mismatch.empty())
      text += fmt::format(": {:.6g} instead of {:.6g} at {}", first.actual, first.expected,
                          indexText(first.worstIndex));
    text += "\n";
  }
  return text;
}

std::string viewText(const ExtractResult& view, const TextOptions&) {
  std::string text = fmt::format("wrote {} ({}): {} of {} nodes, {} of {} of weights\n", view.file,
                                 bytesText(view.bytes), view.nodesCount, view.allNodesCount,
                                 bytesText(view.weightsBytes), bytesText(view.allWeightsBytes));
  const auto add = [&](const char* what, const ExtractResult::Boundary& value) {
    text += fmt::format("  {} {}: {}{}{}\n", what, visibleLine(value.name), visibleLine(value.type),
                        value.isAsked ? "" : ", needed too",
                        value.file.empty() ? "" : ", in " + visibleLine(value.file));
  };
  for (const auto& input : view.inputs) add("input", input);
  for (const auto& output : view.outputs) add("output", output);
  if (!view.again.empty()) text += view.again + "\n";
  return text;
}

std::string viewText(const QuantiseResult& view, const TextOptions& options) {
  std::string text = fmt::format("wrote {} ({}, before {})\n", view.file, bytesText(view.bytesAfter),
                                 bytesText(view.bytesBefore));
  if (view.runsCount > 0)
    text += fmt::format("{} in u8, by their ranges in {}\n", countText(view.activations.size(), "value"),
                        countText(view.runsCount, "run"));
  TextRows rows;
  for (const auto& weight : view.weights) {
    const bool changed = !weight.form.empty();
    rows.push_back({visibleLine(weight.name), weight.op,
                    weight.bytesBefore > 0 ? bytesText(weight.bytesBefore) : "",  // none: no constant
                    changed ? bytesText(weight.bytesAfter) : "",
                    changed ? fmt::format("{:.3g}", weight.relative) : "",
                    changed ? weight.form : "stays: " + weight.why});
  }
  text += textTable({"weight", "operator", ">before", ">after", ">error", "form"}, rows, options);
  if (!options.full || view.activations.empty()) return text;
  TextRows values;
  for (const auto& value : view.activations)
    values.push_back({visibleLine(value.name), fmt::format("{:.5g}", value.low),
                      fmt::format("{:.5g}", value.high), fmt::format("{:.5g}", value.scale),
                      std::to_string(value.zero)});
  return text + "\n" + textTable({"value", ">from", ">to", ">scale", ">zero point"}, values, options);
}

std::string viewText(const CertificateView& view, const TextOptions& options) {
  static constexpr size_t kMostOpen = 12;
  std::string text = fmt::format("{}: {}", visibleLine(view.file),
                                 view.status == "partly" ? "partly certified" : view.status);
  if (!view.why.empty()) return text + ": " + visibleLine(view.why) + "\n";
  text += fmt::format(", {} checked in {}\n", bytesText(view.certificateBytes), durationText(view.checkNs));
  TextRows rows;
  for (const auto& kind : view.kinds)
    rows.push_back({kind.name, std::to_string(kind.shownCount), std::to_string(kind.openCount)});
  text += textTable({"obligation", ">shown", ">open"}, rows, options);
  const bool isPeakOpen =
      std::any_of(view.open.begin(), view.open.end(), [](const auto& e) { return e.kind == "peak"; });
  if (!isPeakOpen)
    for (const std::string& peak : view.peak)
      text += fmt::format("{} {} bytes\n", &peak == &view.peak.front() ? "peak: at most" : "      or",
                          visibleLine(peak));
  const size_t count = options.full ? view.open.size() : std::min(view.open.size(), kMostOpen);
  for (size_t i = 0; i < count; ++i)
    text += fmt::format("open: {} {}: {}\n", view.open[i].kind, visibleLine(view.open[i].place),
                        visibleLine(view.open[i].what));
  if (count < view.open.size()) text += fmt::format("      ... {} more\n", view.open.size() - count);
  std::string names;
  for (const std::string& name : view.builtins) names += (names.empty() ? "" : ", ") + visibleLine(name);
  text +=
      fmt::format("not covered: machine code follows the stated accesses ({} launches)", view.launchesCount);
  if (view.builtinCallsCount > 0)
    text += fmt::format("; insides of built-in kernels ({} calls: {})", view.builtinCallsCount, names);
  return text + "\n";
}

}  // namespace dyn
