#include <fmt/format.h>

#include "app/session/views/pass_views.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

std::string viewText(const PassList& view, const TextOptions& options) {
  TextRows rows;
  for (const PassRow& row : view.rows) {
    std::vector<std::string> counters;
    for (const auto& [name, value] : row.counters) counters.push_back(name + "=" + std::to_string(value));
    rows.push_back({(view.current == row.index ? "> " : "  ") + std::to_string(row.index), row.name,
                    row.failed    ? "failed"
                    : row.changed ? "changed"
                                  : "-",
                    durationText(row.timeNs), std::to_string(row.opsBefore), std::to_string(row.opsAfter),
                    std::to_string(row.solverSteps), joinedWords(counters)});
  }
  std::string text =
      textTable({"  #", "pass", "", ">time", ">ops", ">after", ">solver", "counters"}, rows, options);
  for (const PassRow& row : view.rows)
    for (size_t i = 0; i < row.remarks.size(); ++i) {
      if (i == 5) {
        text += fmt::format("  {}: ... {} more\n", row.name, row.remarks.size() - i);
        break;
      }
      text += "  " + row.name + ": " + row.remarks[i] + "\n";
    }
  return text;
}

std::string viewText(const DiffView& view, const TextOptions& options) {
  std::string text = paint(
      fmt::format("{} -> {}: {} added, {} removed, {} changed, {} the same\n", view.fromName, view.toName,
                  view.addedCount, view.removedCount, view.changedCount, view.unchangedCount),
      "1", options);
  std::string function;
  int lines = 0;
  for (size_t i = 0; i < view.lines.size(); ++i) {
    const DiffLine& line = view.lines[i];
    if (options.mostLines > 0 && !options.full && lines >= options.mostLines) {
      text += fmt::format("... {} more; :set full on shows all\n", view.lines.size() - i);
      break;
    }
    if (line.function != function && !line.function.empty()) {
      function = line.function;
      text += "@" + function + "\n";
    }
    // Of an operation that only got types the new line says it all.
    const bool typesOnly = line.what == std::vector<std::string>{"types"};
    if (!line.before.empty() && !typesOnly) text += paint("- " + line.before, "31", options) + "\n", ++lines;
    if (!line.after.empty())
      text += paint((typesOnly ? "~ " : "+ ") + line.after, typesOnly ? "33" : "32", options) + "\n", ++lines;
  }
  return text;
}

std::string viewText(const BisectView& view, const TextOptions& options) {
  TextRows rows;
  for (const BisectRow& row : view.rows)
    rows.push_back({std::to_string(row.step), row.name, row.by, row.verdict, row.difference});
  std::string text = textTable({">#", "step", "evaluated by", "results", ""}, rows, options);
  if (!view.first) return text + "no step changes a result\n";
  const std::string what = view.inCompilation ? "the fault is in lowering or code generation"
                                              : fmt::format("the first wrong pass is {} (step {})",
                                                            view.first->name, view.first->step);
  text += paint(what, "1", options) + "\n";
  if (view.reduced.empty()) return text;
  text += fmt::format("reduced to {} of {} operations{}\n", view.reducedOpsCount, view.opsCount,
                      view.reducedFile.empty() ? "" : ", written to " + view.reducedFile);
  if (view.reducedFile.empty()) text += view.reduced;
  for (const auto& [name, file] : view.reducedInputs) text += "  %" + name + " in " + file + "\n";
  if (!view.again.empty()) text += "to see it again: " + view.again + "\n";
  return text;
}

}  // namespace dyn
