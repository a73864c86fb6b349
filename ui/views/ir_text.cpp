#include "ui/views/ir_text.h"

#include <QFontDatabase>
#include <QRegularExpression>
#include <QSyntaxHighlighter>
#include <QTextBlock>

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
  setLineWrapMode(QPlainTextEdit::NoWrap);
  new IrHighlighter(document(), palette().color(QPalette::Base).lightness() < 128);
}

void IrTextView::showIr(const IrText& text) {
  lines_ = text.lines;
  setExtraSelections({});
  setPlainText(QString::fromStdString(text.text));
}

void IrTextView::showDiff(const DiffView& diff) {
  lines_.clear();
  const bool dark = palette().color(QPalette::Base).lightness() < 128;
  const QColor added = dark ? QColor(28, 74, 42) : QColor(214, 245, 220), removed = dark ? QColor(92, 34, 38) : QColor(255, 222, 222),
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

void IrTextView::showNode(NodeId node) {
  for (const IrLine& line : lines_) {
    if (line.node != node || line.line == 0) continue;
    const QTextBlock block = document()->findBlockByNumber(static_cast<int>(line.line) - 1);
    if (!block.isValid()) return;
    std::vector<QColor> colors(static_cast<size_t>(line.line));
    colors.back() = palette().color(QPalette::Base).lightness() < 128 ? QColor(60, 72, 100) : QColor(220, 230, 250);
    colorLines(colors);
    setTextCursor(QTextCursor(block));
    centerCursor();
    return;
  }
}

}  // namespace dyn::ui
