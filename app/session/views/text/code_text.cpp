#include <fmt/format.h>

#include <algorithm>

#include "app/session/views/code_views.h"
#include "app/session/views/text/ir_colors.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/view_text.h"

namespace dyn {

std::string viewText(const IrText& view, const TextOptions& options) {
  if (!view.file.empty()) return "wrote " + view.file + "\n";
  std::string text = view.text;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return options.color ? colored(text) : text;
}

std::string viewText(const LinkedLines& view, const TextOptions& options) {
  constexpr size_t kMostLines = 12;
  std::string text = fmt::format("{} {}: {}\n", toString(view.level), view.line.line, view.line.text);
  for (const LinkedLines::Level& level : view.levels) {
    text += fmt::format("{}{}\n", toString(level.level), level.lines.empty() ? ": nothing" : "");
    const size_t shown = options.full ? level.lines.size() : std::min(level.lines.size(), kMostLines);
    for (size_t i = 0; i < shown; ++i)
      text += fmt::format("  {:>6}  {}\n", level.lines[i].line, level.lines[i].text);
    if (shown < level.lines.size())
      text += fmt::format("          ... and {} more lines\n", level.lines.size() - shown);
  }
  return text;
}

}  // namespace dyn
