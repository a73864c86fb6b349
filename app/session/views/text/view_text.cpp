#include "app/session/views/view_text.h"

#include <fmt/format.h>

#include <cstdlib>

#include "app/session/views/shell_views.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "compiler/support/excerpt.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

std::string textOfView(const View& view, const TextOptions& options) {
#define DYN_VIEW(kind) \
  if (const auto* held = view.as<kind>()) return viewText(*held, options);
#include "app/session/views/views.def"
#undef DYN_VIEW
  return "";
}

}  // namespace

std::string toText(const View& view, const TextOptions& options) {
  return visibleText(textOfView(view, options), options.color ? ColorCodes::kept : ColorCodes::escaped);
}

std::string toText(const Diagnostic& diagnostic, const TextOptions& options) {
  const char* kind = diagnostic.severity == Severity::error     ? "error"
                     : diagnostic.severity == Severity::warning ? "warning"
                                                                : "note";
  std::string text;
  const std::string place = diagnostic.place.toString();
  // Messages about a file begin with its name already.
  const bool named = diagnostic.message.compare(0, place.size() + 2, place + ": ") == 0;
  if (!place.empty() && !named) text += paint(visibleLine(place) + ": ", "1", options);
  text += paint(fmt::format("{}[{}]", kind, diagnosticRow(diagnostic.id).code),
                diagnostic.severity == Severity::error ? "1;31" : "1;35", options);
  text += ": " + visibleLine(diagnostic.message) + "\n";
  for (const std::string& note : diagnostic.notes) {
    const std::string body =
        isExcerpt(note) ? visibleText(note, ColorCodes::escaped) : "note: " + visibleLine(note);
    text += "  ";
    for (char c : body) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
    text += "\n";
  }
  return text;
}

std::string countText(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string durationText(int64_t timeNs) {
  const double t = static_cast<double>(timeNs);
  if (timeNs < 1000) return fmt::format("{} ns", timeNs);
  if (timeNs < 1000'000) return fmt::format("{:.1f} us", t / 1e3);
  if (timeNs < 1000'000'000) return fmt::format("{:.2f} ms", t / 1e6);
  return fmt::format("{:.2f} s", t / 1e9);
}

namespace {

TextOptions::Pictures picturesOf(const std::string& word, const TextOptions& options) {
  using Pictures = TextOptions::Pictures;
  if (word == "auto") return options.terminalPictures;
  return word == "blocks"  ? Pictures::blocks
         : word == "kitty" ? Pictures::kitty
         : word == "sixel" ? Pictures::sixel
                           : Pictures::off;
}

}  // namespace

void applySettings(const SettingTable& table, TextOptions& options) {
  for (const SettingTable::Row& row : table.rows) {
    if (row.name == "precision") options.precision = std::atoi(row.value.c_str());
    if (row.name == "edge-items") options.edgeItems = std::atoi(row.value.c_str());
    if (row.name == "full") options.full = row.value == "on";
    if (row.name == "pictures") options.pictures = picturesOf(row.value, options);
  }
}

std::string nodeOf(const std::string& place) {
  const size_t node = place.rfind("node ");
  if (node == std::string::npos) return place;
  const std::string name = place.substr(node + 5);
  return name.substr(0, name.find(" ("));
}

}  // namespace dyn
