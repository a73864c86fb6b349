#include "app/session/views/cause_views.h"
#include "app/session/views/text/view_cases.h"
#include "compiler/support/visible_text.h"

namespace dyn {

std::string viewText(const RunCauses& view, const TextOptions&) {
  std::string text = view.question + " " + visibleLine(view.answer) + "\n";
  for (const auto& culprit : view.culprits) text += "  because " + visibleLine(culprit.text) + "\n";
  for (const auto& change : view.changes)
    text += "  the smallest change: " + visibleLine(change.text) +
            (change.verified.empty() ? " (not verified)" : " (verified " + change.verified + ")") + "\n";
  for (const auto& note : view.notes) text += "  " + visibleLine(note) + "\n";
  if (!view.steps.empty()) text += "how it came:\n";
  for (const auto& step : view.steps)
    text += std::string(2 + 2 * static_cast<size_t>(step.depth), ' ') + visibleLine(step.text) + "\n";
  if (view.leftOutCount > 0) text += "  ... and " + std::to_string(view.leftOutCount) + " more steps\n";
  return text;
}

}  // namespace dyn
