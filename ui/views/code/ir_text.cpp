#include "ui/views/code/ir_text.h"

#include <algorithm>

#include "app/session/views/code_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/pass_views.h"

namespace dyn::ui {

namespace {

// The lines of a difference, one mark each, and where pairs of lines differ.
class DiffText {
 public:
  uint32_t add(LineMark mark, const char* sign, std::string_view line) {
    text_ += sign;
    text_ += line;
    text_ += '\n';
    marks_.push_back(mark);
    changed_.emplace_back();
    return static_cast<uint32_t>(marks_.size());
  }
  // Texts of several lines: an operation with bodies. Line by line where both have as many.
  void addPair(const std::string& before, const std::string& after) {
    const std::vector<std::string_view> old = linesOf(before), now = linesOf(after);
    if (old.size() != now.size()) {
      for (const std::string_view line : old) add(LineMark::before, "< ", line);
      for (const std::string_view line : now) add(LineMark::after, "> ", line);
      return;
    }
    for (size_t i = 0; i < old.size(); ++i) {
      if (old[i] == now[i]) {
        add(LineMark::none, "  ", old[i]);
        continue;
      }
      WordDifference words = wordsThatDiffer(old[i], now[i]);
      for (std::vector<Columns>* side : {&words.before, &words.after})
        for (Columns& columns : *side) columns = {columns.first + 2, columns.second + 2};  // behind the sign
      changed_[add(LineMark::before, "< ", old[i]) - 1] = std::move(words.before);
      changed_[add(LineMark::after, "> ", now[i]) - 1] = std::move(words.after);
    }
  }
  void addAll(LineMark mark, const char* sign, const std::string& lines) {
    for (const std::string_view line : linesOf(lines)) add(mark, sign, line);
  }
  uint32_t count() const { return static_cast<uint32_t>(marks_.size()); }
  std::shared_ptr<const CodeText> take() {
    auto code = std::make_shared<CodeText>(std::move(text_));
    code->marks = std::move(marks_);
    code->changed = std::move(changed_);
    return code;
  }

 private:
  static std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) lines.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
  }
  std::string text_;
  std::vector<LineMark> marks_;
  std::vector<std::vector<Columns>> changed_;
};

}  // namespace

IrTextView::IrTextView(QWidget* parent) : CodeView(parent) {
  setShortNames(true);
  connect(this, &CodeView::lineChosen, this, [this](int line) {
    const NodeId node = nodeAtLine(static_cast<uint32_t>(line) + 1);
    if (node != kNoNode) Q_EMIT nodeChosen(node);
  });
}

void IrTextView::showIr(const IrText& text) {
  lines_ = text.lines;
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const IrLine& a, const IrLine& b) { return a.line < b.line; });
  auto code = std::make_shared<CodeText>(text.text);
  code->folds = foldsOf(*code);
  setCode(std::move(code));
}

void IrTextView::showDiff(const DiffView& diff) {
  lines_.clear();
  DiffText text;
  text.add(LineMark::none, "// ",
           diff.fromName + " to " + diff.toName + ": " + std::to_string(diff.addedCount) + " added, " +
               std::to_string(diff.removedCount) + " removed, " + std::to_string(diff.changedCount) +
               " changed, " + std::to_string(diff.unchangedCount) + " unchanged");
  for (const DiffLine& line : diff.lines) {
    lines_.push_back({text.count() + 1, line.node});
    if (line.kind == DiffKind::added) text.addAll(LineMark::added, "+ ", line.after);
    if (line.kind == DiffKind::removed) text.addAll(LineMark::removed, "- ", line.before);
    if (line.kind == DiffKind::changed) text.addPair(line.before, line.after);
  }
  setCode(text.take());
}

void IrTextView::showAligned(std::shared_ptr<const CodeText> code, std::vector<IrLine> lines) {
  lines_ = std::move(lines);
  setCode(std::move(code));
}

NodeId IrTextView::nodeAtLine(uint32_t line) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), line,
                                      [](uint32_t at, const IrLine& start) { return at < start.line; });
  return after == lines_.begin() ? kNoNode : std::prev(after)->node;
}

void IrTextView::showNode(NodeId node) {
  const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const IrLine& line) {
    return line.node == node && line.line > 0 && static_cast<int>(line.line) <= lineCount();
  });
  if (found == lines_.end() || node == kNoNode) return setHighlights({});
  const int line = static_cast<int>(found->line) - 1;
  QColor color = palette().color(QPalette::Highlight);
  color.setAlpha(60);
  setHighlights({{line, color}});
  // A line that is clicked stays under the mouse.
  if (currentLine() != line) showLine(line);
}

}  // namespace dyn::ui
