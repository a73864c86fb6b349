#include "ui/views/ir_text.h"

#include <QFontDatabase>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QSyntaxHighlighter>
#include <QTextBlock>
#include <algorithm>

namespace dyn::ui {

namespace {

class IrHighlighter : public QSyntaxHighlighter {
 public:
  IrHighlighter(QTextDocument* document, bool dark) : QSyntaxHighlighter(document) {
    const auto rule = [&](const char* pattern, const char* light, const char* darkColor) {
      QTextCharFormat format;
      format.setForeground(QColor(dark ? darkColor : light));
      rules_.push_back({QRegularExpression(pattern), format});
    };
    rule(R"(\b(fn|return|then|else|body|cond|where|let)\b)", "#8b2fb8", "#c792ea");
    rule(R"([%@][A-Za-z_0-9.$/:-]+)", "#0b63b0", "#82aaff");
    rule(R"(\b[a-z_0-9]+(?=\())", "#00716a", "#80cbc4");
    rule(R"(\b(Tensor|f16|f32|f64|bf16|i8|i16|i32|i64|u8|u16|u32|u64|bool|string)\b)", "#a15c00", "#ffcb6b");
    rule(R"((?<![\w%@.])-?\d+(\.\d+)?(e[-+]?\d+)?\b)", "#b02a37", "#f78c6c");
    rule(R"("[^"]*")", "#3d7a1c", "#c3e88d");
    rule(R"(//.*$)", "#7a8190", "#8791a5");
  }

 protected:
  void highlightBlock(const QString& text) override {
    if (text.size() > 4000) return;  // one line of a huge constant
    for (const auto& [expression, format] : rules_)
      for (auto it = expression.globalMatch(text); it.hasNext();) {
        const auto match = it.next();
        setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedLength()), format);
      }
  }

 private:
  std::vector<std::pair<QRegularExpression, QTextCharFormat>> rules_;
};

}  // namespace

IrTextView::IrTextView(QWidget* parent) : QPlainTextEdit(parent) {
  QFont font("DejaVu Sans Mono");
  font.setStyleHint(QFont::Monospace);
  font.setPixelSize(12);
  setFont(font);
  setReadOnly(true);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  setLineWrapMode(QPlainTextEdit::NoWrap);
  new IrHighlighter(document(), palette().color(QPalette::Base).lightness() < 128);
}

void IrTextView::showIr(const IrText& text) {
  lines_ = text.lines;
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const IrLine& a, const IrLine& b) { return a.line < b.line; });
  chosenLine_ = -1;
  setExtraSelections({});
  setPlainText(QString::fromStdString(text.text));
}

void IrTextView::showDiff(const DiffView& diff) {
  lines_.clear();
  chosenLine_ = -1;
  const bool dark = palette().color(QPalette::Base).lightness() < 128;
  const QColor added = dark ? QColor(28, 74, 42) : QColor(214, 245, 220),
               removed = dark ? QColor(92, 34, 38) : QColor(255, 222, 222),
               changed = dark ? QColor(92, 70, 20) : QColor(255, 240, 200);
  QString text = QString("// %1: %2 added, %3 removed, %4 changed, %5 unchanged\n")
                     .arg(QString::fromStdString(diff.toName))
                     .arg(diff.addedCount)
                     .arg(diff.removedCount)
                     .arg(diff.changedCount)
                     .arg(diff.unchangedCount);
  std::vector<QColor> colors = {QColor()};
  const auto add = [&](const char* sign, const std::string& lines, const QColor& color) {
    for (const QString& line : QString::fromStdString(lines).split('\n', Qt::SkipEmptyParts)) {
      text += sign + line + "\n";
      colors.push_back(color);
    }
  };
  for (const DiffLine& line : diff.lines) {
    lines_.push_back({static_cast<uint32_t>(colors.size()) + 1, line.node});
    if (line.kind == DiffKind::added) add("+ ", line.after, added);
    if (line.kind == DiffKind::removed) add("- ", line.before, removed);
    if (line.kind == DiffKind::changed) {
      add("< ", line.before, changed);
      add("> ", line.after, changed);
    }
  }
  setPlainText(text);
  colorLines(colors);
}

void IrTextView::colorLines(const std::vector<QColor>& colors) {
  QList<QTextEdit::ExtraSelection> marks;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    const size_t line = static_cast<size_t>(block.blockNumber());
    if (line >= colors.size() || !colors[line].isValid()) continue;
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor(block);
    mark.format.setBackground(colors[line]);
    mark.format.setProperty(QTextFormat::FullWidthSelection, true);
    marks.push_back(mark);
  }
  setExtraSelections(marks);
}

NodeId IrTextView::nodeAtLine(uint32_t line) const {
  NodeId node = kNoNode;
  for (const IrLine& start : lines_) {
    if (start.line > line) break;
    node = start.node;
  }
  return node;
}

void IrTextView::chooseLine() {
  const int line = textCursor().blockNumber();
  if (line == chosenLine_ || textCursor().hasSelection()) return;
  chosenLine_ = line;
  const NodeId node = nodeAtLine(static_cast<uint32_t>(line) + 1);
  if (node != kNoNode) Q_EMIT nodeChosen(node);
}

void IrTextView::mouseReleaseEvent(QMouseEvent* event) {
  QPlainTextEdit::mouseReleaseEvent(event);
  chooseLine();
}

// Up and down go from line to line, as where text can be edited.
void IrTextView::keyPressEvent(QKeyEvent* event) {
  const bool up = event->key() == Qt::Key_Up, down = event->key() == Qt::Key_Down;
  if ((!up && !down) || event->modifiers() != Qt::NoModifier) return QPlainTextEdit::keyPressEvent(event);
  moveCursor(up ? QTextCursor::PreviousBlock : QTextCursor::NextBlock);
  event->accept();
}

void IrTextView::keyReleaseEvent(QKeyEvent* event) {
  QPlainTextEdit::keyReleaseEvent(event);
  chooseLine();
}

void IrTextView::showNode(NodeId node) {
  for (const IrLine& line : lines_) {
    if (line.node != node || line.line == 0) continue;
    if (static_cast<int>(line.line) - 1 != chosenLine_) chosenLine_ = -1;
    const QTextBlock block = document()->findBlockByNumber(static_cast<int>(line.line) - 1);
    if (!block.isValid()) return;
    std::vector<QColor> colors(static_cast<size_t>(line.line));
    colors.back() =
        palette().color(QPalette::Base).lightness() < 128 ? QColor(60, 72, 100) : QColor(220, 230, 250);
    colorLines(colors);
    // A line that is clicked stays under the mouse.
    if (textCursor().blockNumber() == block.blockNumber()) return;
    setTextCursor(QTextCursor(block));
    centerCursor();
    return;
  }
}

}  // namespace dyn::ui
