#include <fmt/format.h>

#include "app/engine/run/level_loops.h"
#include "app/session/views/level_homes.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

constexpr size_t kMostRows = 24, kBarColumns = 24;

// From 1: "3", "3-17".
std::string rangeText(size_t begin, size_t end) {
  return begin + 1 == end ? std::to_string(end) : fmt::format("{}-{}", begin + 1, end);
}

std::string bar(double share) {
  const double columns = share * static_cast<double>(kBarColumns);
  return std::string(columns > 0 ? std::max<size_t>(1, static_cast<size_t>(columns + 0.5)) : 0, '#');
}

int64_t sumOf(const std::vector<int64_t>& all, size_t begin, size_t end) {
  return std::accumulate(all.begin() + static_cast<ptrdiff_t>(begin),
                         all.begin() + static_cast<ptrdiff_t>(end), int64_t{0});
}
int64_t mostOf(const std::vector<int64_t>& all, size_t begin, size_t end) {
  return *std::max_element(all.begin() + static_cast<ptrdiff_t>(begin),
                           all.begin() + static_cast<ptrdiff_t>(end));
}

std::string headOf(const LevelLoop& loop, const Caches& caches) {
  std::string text = fmt::format("@{}: {} in {}", loop.function, countText(loop.nodesCount(), "node"),
                                 countText(static_cast<int64_t>(loop.nodes.size()), "level"));
  if (loop.leaves) text += fmt::format(" above {} {}", *loop.leaves, *loop.leaves == 1 ? "leaf" : "leaves");
  if (!loop.timesNs.empty()) text += ", " + durationText(loop.timeNs());
  text += fmt::format("; the widest has {}", loop.widest());
  if (!loop.takenBytes.empty()) text += ", a level takes up to " + bytesText(loop.mostBytes());
  return text + "\n  at " + loop.place + "\n" +
         (loop.oneByOne.empty() ? "" : "  one by one: " + loop.oneByOne + "\n") + homesText(loop, caches);
}

std::string loopText(const LevelLoop& loop, const Caches& caches, size_t most, const TextOptions& options) {
  const std::vector<size_t> parts = evenParts(loop.nodes.size(), most);
  const bool timed = !loop.timesNs.empty();
  int64_t longest = 1;
  for (size_t i = 0; timed && i + 1 < parts.size(); ++i)
    longest = std::max(longest, sumOf(loop.timesNs, parts[i], parts[i + 1]));
  TextRows rows;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const size_t begin = parts[i], end = parts[i + 1];
    const int64_t nodes = sumOf(loop.nodes, begin, end);
    std::vector<std::string> row{rangeText(begin, end), std::to_string(nodes)};
    if (timed) {
      const int64_t ns = sumOf(loop.timesNs, begin, end);
      const double share = 100 * static_cast<double>(ns) / std::max(1.0, static_cast<double>(loop.timeNs()));
      row.insert(row.end(), {durationText(ns), nodes > 0 ? durationText(ns / nodes) : "-",
                             fmt::format("{:.1f}%", share), bytesText(mostOf(loop.takenBytes, begin, end)),
                             bar(static_cast<double>(ns) / static_cast<double>(longest))});
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::string> head{">level", ">nodes"};
  if (timed) head.insert(head.end(), {">time", ">a node", ">share", ">memory", ""});
  return headOf(loop, caches) + textTable(std::move(head), rows, options);
}

std::string savingOf(const SequenceRows& rows) {
  const std::string share = fmt::format("{:.1f}%", 100 * rows.paddingShare());
  if (rows.isComputedPadded) return "padding is " + share + " of what is computed";
  return share + " of a padded batch is left out";
}

std::string sequencesText(const SequenceRows& value, size_t most, const TextOptions& options) {
  std::string text = fmt::format("{}: {}, {} in all, the longest {}; {}\n", value.value,
                                 countText(static_cast<int64_t>(value.lengths.size()), "sequence"),
                                 countText(value.sum(), "row"), value.longest(), savingOf(value));
  const std::vector<size_t> parts = evenParts(value.lengths.size(), most);
  TextRows rows;
  int64_t offset = 0;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const size_t begin = parts[i], end = parts[i + 1];
    const int64_t sum = sumOf(value.lengths, begin, end), longest = mostOf(value.lengths, begin, end);
    const double share =
        value.longest() > 0 ? static_cast<double>(longest) / static_cast<double>(value.longest()) : 0;
    rows.push_back({rangeText(begin, end), std::to_string(sum), std::to_string(offset), bar(share)});
    offset += sum;
  }
  return text + textTable({">sequence", ">rows", ">offset", ""}, rows, options);
}

}  // namespace

// More than a page of levels or sequences stand together, neighbours in one line, unless view.all.
std::string viewText(const LevelsView& view, const TextOptions& options) {
  const size_t most = view.all || options.full ? SIZE_MAX : kMostRows;
  std::string text;
  for (const LevelLoop& loop : view.loops)
    text += (text.empty() ? "" : "\n") + loopText(loop, view.caches, most, options);
  for (const SequenceRows& rows : view.sequences)
    text += (text.empty() ? "" : "\n") + sequencesText(rows, most, options);
  if (!view.loops.empty() && view.peakBytes > 0)
    text += "\nthe run took " + durationText(view.runNs) + ", peak " + bytesText(view.peakBytes) + "\n";
  return text;
}

}  // namespace dyn
