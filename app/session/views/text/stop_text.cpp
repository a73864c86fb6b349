#include <fmt/format.h>

#include "app/session/views/stop_views.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

std::string sourceText(const StopView& stop, const TextOptions& options) {
  std::string text, others;
  uint32_t before = 0;
  size_t othersCount = 0;
  for (const StopView::SourceLine& line : stop.source) {
    if (before != 0 && line.number > before + 1) text += "  ...\n";
    before = line.number;
    const char* mark = line.here ? ">" : line.sameKernel ? "+" : " ";
    std::string row = line.number == 0
                          ? fmt::format("{} {}", mark, visibleLine(line.text))
                          : fmt::format("{} {:>4}  {}", mark, line.number, visibleLine(line.text));
    if (options.color && line.here) row = "\033[1m" + row + "\033[0m";
    text += row + "\n";
    othersCount += line.sameKernel && !line.here;
  }
  if (othersCount > 0)
    text += fmt::format("  one kernel computes {} and what is marked +\n",
                        stop.source.front().number == 0 ? "this node" : "this line");
  return text;
}

// A named value, or a dim of the inputs: what a reader of the source knows.
bool isNamed(const StoppedRegister& held) {
  if (!held.type.empty()) return !held.holds.empty() && !held.value.empty();
  return held.dims.find_first_not_of("0123456789, ") != std::string::npos;
}

std::string stoppedRegisterText(const StoppedRegister& held, StopView::Detail detail) {
  const std::string said = held.type.empty() ? held.dims : held.holds;
  if (detail == StopView::Detail::operation) return fmt::format("  {} = {}\n", visibleLine(said), held.value);
  const bool isOther = !held.type.empty() && held.value == "memory or a function";
  return fmt::format("  {:<4} {}{}{}\n", held.name, isOther ? held.type + " " : "", held.value,
                     said.empty() ? "" : "  (" + visibleLine(said) + ")");
}

// The end is cut off where the terminal ends.
std::string cutLine(std::string line, const TextOptions& options) {
  const auto width = static_cast<size_t>(options.width);
  if (!options.fitted || line.size() <= width || columnsOf(line) <= width) return line;
  size_t end = std::min(line.size(), width - 4);
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end) + " ...\n";
}

// Precondition: the run has not ended.
std::string stopText(const StopView& stop, const TextOptions& options) {
  using Detail = StopView::Detail;
  std::string text = fmt::format("{}: @{}", stop.why, stop.function);
  const bool saysNode = !stop.source.empty() && stop.source.front().number == 0;
  if (stop.place.empty())
    text += stop.position == 0 && stop.depth == 0 ? ", before its first operation" : "";
  else if (!saysNode)
    text += ", " + visibleLine(stop.place);
  text += "\n";
  if (stop.detail != Detail::operation)
    text += fmt::format("  word {}, line {} of the bytecode, depth {}: {}\n", stop.position, stop.line,
                        stop.depth, stop.instruction);
  text += sourceText(stop, options);
  for (const StoppedRegister& held : stop.registers) {
    // Sizes that are 0 are those that were not made yet, most of all.
    if (held.type.empty() && held.value == "0" && !(held.changed && !held.dims.empty()) && !options.full)
      continue;
    if (stop.detail != Detail::everything && !held.changed) continue;
    if (stop.detail == Detail::operation && !isNamed(held)) continue;
    text += cutLine(stoppedRegisterText(held, stop.detail), options);
  }
  return text;
}

}  // namespace

std::string viewText(const StopView& view, const TextOptions& options) {
  if (view.ended) return view.why + "\n" + (view.result ? viewText(*view.result, options) : "");
  return stopText(view, options);
}

std::string viewText(const BreakpointTable& view, const TextOptions&) {
  std::string text;
  for (const BreakpointTable::Row& row : view.rows)
    text += fmt::format(
        "{}  {}  {}{}\n", row.number, row.what, row.where,
        row.hits == 0 ? "" : fmt::format("  hit {} {}", row.hits, row.hits == 1 ? "time" : "times"));
  for (const std::string& name : view.watched) text += "watched  " + name + "\n";
  return text.empty() ? "no breakpoints\n" : text;
}

}  // namespace dyn
