#include <set>

#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"
#include "app/session/views/why_views.h"

namespace dyn {

std::string viewText(const DimsTable& view, const TextOptions& options) {
  if (view.rows.empty()) return "all shapes are fixed\n";
  TextRows rows;
  for (const DimRow& row : view.rows) {
    std::string range =
        (row.low ? std::to_string(*row.low) : "") + ".." + (row.high ? std::to_string(*row.high) : "");
    if (row.multiple > 1) range += " x" + std::to_string(row.multiple);
    rows.push_back({row.symbol, range, std::to_string(row.usesCount), row.origin});
  }
  std::string text = textTable({"dim", "range", ">uses", "where it comes from"}, rows, options);
  std::set<std::string> shown;  // a fact about two symbols stands at both
  for (const DimRow& row : view.rows)
    for (const std::string& fact : row.facts)
      if (shown.insert(fact).second) text += "  " + fact + "\n";
  for (const std::string& check : view.checks) text += "  " + check + "\n";
  return text;
}

std::string viewText(const WhyView& view, const TextOptions& options) {
  std::string text = view.question + " " + paint(view.answer, "1", options) + "\n";
  for (const std::string& line : view.lines) text += "  " + line + "\n";
  for (const std::string& step : view.chain) text += "  " + step + "\n";
  for (const std::string& fact : view.facts) text += "  because " + fact + "\n";
  for (const std::string& fact : view.known) text += "  known: " + fact + "\n";
  if (!view.counterexample.empty())
    text += "  not for " + dimValuesText(view.counterexample) +
            (view.shapes.empty() ? "" : ": inputs " + joinedWords(view.shapes)) + "\n";
  if (!view.guard.empty())
    text += "  the cheapest guard that would make them equal: " + view.guard +
            (view.weakestGuard.empty() ? "" : "; the weakest: " + view.weakestGuard) + "\n";
  for (const std::string& check : view.checks) text += "  checked at run time: " + check + "\n";
  return text;
}

}  // namespace dyn
