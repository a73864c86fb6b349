#include <fmt/format.h>

#include "app/session/views/problem_views.h"
#include "app/session/views/text/check_formats.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/view_text.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

std::string findingsText(const ProblemList& list) {
  const SizeCheck& sizes = *list.sizes;
  std::string assumed;
  for (const std::string& one : sizes.assumed) assumed += (assumed.empty() ? "" : ", ") + one;
  if (sizes.findings.empty())
    return fmt::format("proved: it runs for all sizes with {}\n",
                       assumed.empty() ? "no size left open" : visibleLine(assumed));
  std::string text = assumed.empty() ? "" : fmt::format("for all sizes with {}:\n", visibleLine(assumed));
  for (const SizeFinding& finding : sizes.findings) {
    const std::string node = finding.diagnostic.place.node.str();
    text += "  " + visibleLine(finding.diagnostic.message) + "\n";
    if (!node.empty()) text += "    node " + visibleLine(node) + "\n";
    for (const std::string& note : finding.diagnostic.notes) text += "    " + visibleLine(note) + "\n";
    if (const auto source = list.sources.find(node); source != list.sources.end())
      text += fmt::format("    exported from {}:{}  {}\n", visibleLine(source->second.file),
                          source->second.line, visibleLine(source->second.code));
  }
  if (sizes.furtherCount > 0)
    text += fmt::format("  {} further checks are not looked at\n", sizes.furtherCount);
  return text;
}

}  // namespace

std::string viewText(const ProblemList& view, const TextOptions& options) {
  const auto counted = [](size_t count, const char* what) {
    return fmt::format("{} {}{}", count == 0 ? "no" : std::to_string(count), what, count == 1 ? "" : "s");
  };
  if (view.format == ProblemFormat::sarif) return sarifText(view);
  if (view.format == ProblemFormat::github) return githubText(view);
  std::string text;
  if (view.sizes) text = findingsText(view);
  text += counted(view.problems.size(), "problem");
  if (!view.warnings.empty()) text += ", " + counted(view.warnings.size(), "warning");
  text += "\n";
  for (const Diagnostic& warning : view.warnings) text += toText(warning, options);
  for (const auto& [op, count] : view.unsupportedOps)
    text += fmt::format("  not supported yet: {} ({} {})\n", visibleLine(op), count,
                        count == 1 ? "node" : "nodes");
  return text;
}

std::string viewText(const VerifyResult& view, const TextOptions&) {
  return view.name + ": " + toString(view.status) + (view.reason.empty() ? "" : ": " + view.reason) + "\n";
}

}  // namespace dyn
