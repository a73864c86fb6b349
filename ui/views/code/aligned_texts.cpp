#include "ui/views/code/aligned_texts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "app/session/views/node_id.h"

namespace dyn::ui {

namespace {

struct Side {
  explicit Side(const IrText& text) : code(text.text) {
    std::vector<NodeId> starts(code.lineCount(), kNoNode);
    for (const IrLine& line : text.lines)
      if (line.line > 0 && line.line <= starts.size()) starts[line.line - 1] = line.node;
    for (uint32_t i = 0; i < code.lineCount(); ++i) {
      nodes.push_back(starts[i]);
      keys.push_back(starts[i] != kNoNode ? "#" + std::to_string(starts[i]) : std::string(code.line(i)));
    }
  }
  CodeText code;
  std::vector<NodeId> nodes;  // that start at the line
  std::vector<std::string> keys;
};

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

// Of pairs by their first lines, the longest row whose second lines ascend, too.
Pairs ascending(const Pairs& pairs) {
  std::vector<size_t> tails, before(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto at = std::lower_bound(tails.begin(), tails.end(), pairs[i].second,
                                     [&](size_t tail, uint32_t line) { return pairs[tail].second < line; });
    before[i] = at == tails.begin() ? pairs.size() : *std::prev(at);
    if (at == tails.end())
      tails.push_back(i);
    else
      *at = i;
  }
  Pairs row;
  for (size_t i = tails.empty() ? pairs.size() : tails.back(); i < pairs.size(); i = before[i])
    row.push_back(pairs[i]);
  std::reverse(row.begin(), row.end());
  return row;
}

// What both have exactly once, in one order; and around it the lines that are the same.
Pairs commonLines(const Side& a, const Side& b) {
  struct Seen {
    int first = 0, second = 0;
    uint32_t line = 0;
  };
  std::unordered_map<std::string_view, Seen> seen;
  for (const std::string& key : a.keys) ++seen[key].first;
  for (uint32_t i = 0; i < b.keys.size(); ++i) {
    Seen& one = seen[b.keys[i]];
    ++one.second;
    one.line = i;
  }
  Pairs once;
  for (uint32_t i = 0; i < a.keys.size(); ++i)
    if (const Seen& one = seen[a.keys[i]]; one.first == 1 && one.second == 1) once.emplace_back(i, one.line);
  Pairs anchors = ascending(once), common;
  anchors.emplace_back(static_cast<uint32_t>(a.keys.size()), static_cast<uint32_t>(b.keys.size()));
  uint32_t i = 0, j = 0;
  for (const auto& [endA, endB] : anchors) {
    while (i < endA && j < endB && a.keys[i] == b.keys[j]) common.emplace_back(i++, j++);
    uint32_t lastA = endA, lastB = endB;
    while (lastA > i && lastB > j && a.keys[lastA - 1] == b.keys[lastB - 1]) --lastA, --lastB;
    for (; lastA < endA; ++lastA, ++lastB) common.emplace_back(lastA, lastB);
    if (endA < a.keys.size()) common.emplace_back(endA, endB);
    i = endA + 1;
    j = endB + 1;
  }
  return common;
}

// One of the two texts, as it grows.
class Column {
 public:
  explicit Column(const Side& side) : side_(side) {}
  void add(uint32_t line, LineMark mark, std::vector<Columns> changed = {}) {
    text_.append(side_.code.line(line)).push_back('\n');
    marks_.push_back(mark);
    changed_.push_back(std::move(changed));
    numbers_.push_back(line + 1);
    if (side_.nodes[line] != kNoNode)
      lines_.push_back({static_cast<uint32_t>(marks_.size()), side_.nodes[line]});
  }
  void skip() {
    text_.push_back('\n');
    marks_.push_back(LineMark::absent);
    changed_.emplace_back();
    numbers_.push_back(0);
  }
  std::shared_ptr<const CodeText> take(std::vector<IrLine>& lines) {
    lines = std::move(lines_);
    auto code = std::make_shared<CodeText>(std::move(text_));
    code->marks = std::move(marks_);
    code->changed = std::move(changed_);
    code->numbers = std::move(numbers_);
    return code;
  }

 private:
  const Side& side_;
  std::string text_;
  std::vector<LineMark> marks_;
  std::vector<std::vector<Columns>> changed_;
  std::vector<uint32_t> numbers_;
  std::vector<IrLine> lines_;
};

}  // namespace

AlignedTexts alignTexts(const IrText& before, const IrText& after) {
  const Side a(before), b(after);
  Column left(a), right(b);
  AlignedTexts aligned;
  Pairs common = commonLines(a, b);
  common.emplace_back(a.code.lineCount(), b.code.lineCount());
  uint32_t i = 0, j = 0;
  for (const auto& [endA, endB] : common) {
    aligned.removedCount += static_cast<int>(endA - i);
    aligned.addedCount += static_cast<int>(endB - j);
    while (i < endA || j < endB) {
      i < endA ? left.add(i++, LineMark::removed) : left.skip();
      j < endB ? right.add(j++, LineMark::added) : right.skip();
    }
    if (endA == a.code.lineCount() || endB == b.code.lineCount()) break;
    const std::string_view old = a.code.line(i), now = b.code.line(j);
    if (old == now) {
      left.add(i++, LineMark::none);
      right.add(j++, LineMark::none);
    } else {
      WordDifference words = wordsThatDiffer(old, now);
      left.add(i++, LineMark::before, std::move(words.before));
      right.add(j++, LineMark::after, std::move(words.after));
      ++aligned.changedCount;
    }
  }
  aligned.before = left.take(aligned.beforeLines);
  aligned.after = right.take(aligned.afterLines);
  return aligned;
}

}  // namespace dyn::ui
