// CodeView: what is seen of it.
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <array>

#include "ui/support/theme.h"
#include "ui/views/code/code_view.h"
#include "ui/views/code/shown_line.h"

namespace dyn::ui {

namespace {

constexpr int kStripe = 5;   // pixels
constexpr int kMarked = 60;  // opacity of what is chosen, not only looked at

QColor tokenColor(TokenKind kind, bool dark) {
  switch (kind) {
    case TokenKind::keyword:
      return QColor(dark ? "#c792ea" : "#8b2fb8");
    case TokenKind::name:
      return QColor(dark ? "#82aaff" : "#0b63b0");
    case TokenKind::path:
      return QColor(dark ? "#6b7486" : "#9aa3b2");
    case TokenKind::call:
      return QColor(dark ? "#80cbc4" : "#00716a");
    case TokenKind::type:
      return QColor(dark ? "#ffcb6b" : "#a15c00");
    case TokenKind::number:
      return QColor(dark ? "#f78c6c" : "#b02a37");
    case TokenKind::string:
      return QColor(dark ? "#c3e88d" : "#3d7a1c");
    case TokenKind::comment:
      return QColor(dark ? "#8791a5" : "#7a8190");
    case TokenKind::plain:
      break;
  }
  return {};
}

QColor markColor(LineMark mark, bool dark) {
  switch (mark) {
    case LineMark::added:
      return dark ? QColor(28, 74, 42) : QColor(214, 245, 220);
    case LineMark::removed:
      return dark ? QColor(92, 34, 38) : QColor(255, 222, 222);
    case LineMark::before:
    case LineMark::after:
      return dark ? QColor(70, 56, 22) : QColor(255, 246, 220);
    case LineMark::absent:
      return dark ? QColor(255, 255, 255, 10) : QColor(0, 0, 0, 10);
    case LineMark::none:
      break;
  }
  return {};
}

}  // namespace

namespace {

int hueOfGroup(int group) {
  constexpr std::array<int, 8> kHues = {208, 38, 130, 284, 62, 336, 178, 12};
  return kHues[static_cast<size_t>(group) % kHues.size()];
}

}  // namespace

QColor groupColor(int group, bool dark) {
  return QColor::fromHsl(hueOfGroup(group), dark ? 110 : 170, dark ? 50 : 232);
}

void CodeView::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  painter.setFont(font());
  const int first = verticalScrollBar()->value();
  const int from = event->rect().top() / lineHeight_, to = event->rect().bottom() / lineHeight_;
  for (int i = from; i <= to && first + i < rowCount(); ++i)
    paintRow(painter, rowAt(first + i), i * lineHeight_);
}

void CodeView::paintRow(QPainter& painter, Row row, int y) const {
  paintBack(painter, row, y);
  painter.save();
  painter.setClipRect(marginWidth(), y, viewport()->width() - marginWidth(), lineHeight_);
  paintText(painter, row, y);
  painter.restore();
  paintMargin(painter, row, y);
}

void CodeView::paintCells(QPainter& painter, Row row, int y, int from, int to, const QColor& color) const {
  const int base = horizontalScrollBar()->value() + (wrapped_ ? row.part * columnsShown() : 0);
  const int last = wrapped_ ? base + columnsShown() : base + columnsShown() + 2;
  from = std::max(from, base);
  to = std::min(to, last);
  if (from >= to) return;
  painter.fillRect(QRectF(marginWidth() + (from - base) * cell_, y, (to - from) * cell_, lineHeight_), color);
}

void CodeView::paintBack(QPainter& painter, Row row, int y) const {
  const auto line = static_cast<size_t>(row.line);
  const QRect whole(marginWidth() - 2, y, viewport()->width() - marginWidth() + 2, lineHeight_);
  const LineMark mark = line < code_->marks.size() ? code_->marks[line] : LineMark::none;
  if (mark != LineMark::none) painter.fillRect(whole, markColor(mark, isDark(palette())));
  for (const Columns& columns : line < code_->changed.size() ? code_->changed[line] : std::vector<Columns>())
    paintCells(painter, row, y, static_cast<int>(columns.first), static_cast<int>(columns.second),
               mark == LineMark::before ? (isDark(palette()) ? QColor(128, 48, 48) : QColor(255, 196, 190))
                                        : (isDark(palette()) ? QColor(36, 104, 58) : QColor(176, 232, 188)));
  if (line < groups_.size() && groups_[line] >= 0) {
    const QColor color = groupColor(groups_[line], isDark(palette()));
    if (isStriped(groups_[line]))
      painter.fillRect(whole.left(), y, kStripe, lineHeight_,
                       QColor::fromHsl(hueOfGroup(groups_[line]), 150, isDark(palette()) ? 110 : 150));
    else
      painter.fillRect(whole, color);
  }
  if (row.line == standing_)
    painter.fillRect(whole, isDark(palette()) ? QColor(96, 84, 10) : QColor(255, 238, 120));
  for (auto at = std::lower_bound(highlights_.begin(), highlights_.end(), row.line,
                                  [](const auto&pair, int value) { return pair.first < value; });
       at != highlights_.end() && at->first == row.line; ++at) {
    painter.fillRect(whole, at->second);
    // On a background of the same hue it is this that tells.
    if (at->second.alpha() >= kMarked)
      painter.fillRect(whole.left(), y, 3, lineHeight_, palette().highlight());
  }
  if (hasFocus() && row.line == cursor_.line) {
    QColor current = palette().color(QPalette::Highlight);
    current.setAlpha(28);
    painter.fillRect(whole, current);
  }
  const auto [begin, end] = std::minmax(cursor_, anchor_);
  if (!(begin == end) && row.line >= begin.line && row.line <= end.line) {
    QColor selection = palette().color(QPalette::Highlight);
    selection.setAlpha(90);
    paintCells(
        painter, row, y, row.line == begin.line ? begin.column : 0,
        row.line == end.line ? end.column : static_cast<int>(code_->columns(static_cast<uint32_t>(line))) + 1,
        selection);
  }
}

void CodeView::paintText(QPainter& painter, Row row, int y) const {
  const std::string_view line = code_->line(static_cast<uint32_t>(row.line));
  const int base = horizontalScrollBar()->value() + (wrapped_ ? row.part * columnsShown() : 0);
  const int last = base + columnsShown() + (wrapped_ ? 0 : 2);
  // Of a line of a million characters only those that may be seen are looked at.
  const std::string_view near = line.substr(0, static_cast<size_t>(last) * 4 + 4);
  const QString text = shownText(near);
  const double ascent = QFontMetricsF(font()).ascent();
  const bool isAscii = text.size() == static_cast<qsizetype>(near.size());
  const auto draw = [&](int from, int to, const QColor& color) {
    from = std::max(from, base);
    to = std::min({to, last, static_cast<int>(text.size())});
    if (from >= to) return;
    painter.setPen(color);
    painter.drawText(QPointF(marginWidth() + (from - base) * cell_, y + ascent), text.mid(from, to - from));
  };
  if (!sought_.isEmpty())
    for (qsizetype at = text.indexOf(sought_, 0, Qt::CaseInsensitive); at >= 0 && at < last;
         at = text.indexOf(sought_, at + 1, Qt::CaseInsensitive))
      paintCells(painter, row, y, static_cast<int>(at), static_cast<int>(at + sought_.size()),
                 isDark(palette()) ? QColor(130, 104, 20) : QColor(255, 232, 130));
  const QColor plain = palette().color(QPalette::Text);
  int drawn = base;
  for (const Token& token : tokensOf(near)) {
    const int begin = isAscii ? static_cast<int>(token.begin) : columnOfByte(near, token.begin);
    const int end = isAscii ? static_cast<int>(token.end) : columnOfByte(near, token.end);
    if (end <= drawn) continue;
    if (begin >= last) break;
    draw(drawn, begin, plain);
    draw(begin, end, tokenColor(token.kind, isDark(palette())));
    drawn = std::max(drawn, end);
  }
  draw(drawn, last, plain);
  if (isFolded(row.line) && (!wrapped_ || row.part == 0)) {
    const double x =
        marginWidth() +
        (static_cast<double>(code_->columns(static_cast<uint32_t>(row.line))) + 1 - base) * cell_;
    int hidden = 0;
    for (int next = row.line + 1; next < lineCount() && isHidden(next); ++next) ++hidden;
    painter.setPen(tokenColor(TokenKind::comment, isDark(palette())));
    painter.drawText(QPointF(x, y + ascent), QString::fromUtf8(" … %1 more lines").arg(hidden));
  }
}

void CodeView::paintMargin(QPainter& painter, Row row, int y) const {
  painter.fillRect(QRect(0, y, marginWidth() - 3, lineHeight_), palette().color(QPalette::AlternateBase));
  if (row.part > 0) return;
  if (takesMarks_) paintMarks(painter, row.line, y);
  const auto line = static_cast<size_t>(row.line);
  const uint32_t number =
      line < code_->numbers.size() ? code_->numbers[line] : static_cast<uint32_t>(line) + 1;
  if (number == 0) return;
  painter.setPen(tokenColor(TokenKind::path, isDark(palette())));
  painter.drawText(QRectF(0, y, marginWidth() - 2.4 * cell_, lineHeight_), Qt::AlignRight | Qt::AlignVCenter,
                   QString::number(number));
  const bool isFold = std::binary_search(code_->folds.begin(), code_->folds.end(),
                                         Fold{static_cast<uint32_t>(row.line), 0, false},
                                         [](const Fold& a, const Fold& b) { return a.first < b.first; });
  if (isFold)
    painter.drawText(QRectF(marginWidth() - 2.2 * cell_, y, 1.6 * cell_, lineHeight_), Qt::AlignCenter,
                     QString::fromUtf8(isFolded(row.line) ? "▸" : "▾"));
}

void CodeView::paintMarks(QPainter& painter, int line, int y) const {
  const double size = std::min(2 * cell_, static_cast<double>(lineHeight_)) - 3;
  const QRectF at(2, y + (lineHeight_ - size) / 2, size, size);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  if (marks_.count(line)) {
    painter.setBrush(QColor(214, 54, 54));
    painter.drawEllipse(at);
  }
  if (line == standing_) {
    painter.setBrush(isDark(palette()) ? QColor(255, 214, 64) : QColor(190, 130, 0));
    painter.drawPolygon(QPolygonF({at.topLeft(), QPointF(at.right() + 2, at.center().y()), at.bottomLeft()}));
  }
  painter.restore();
}

}  // namespace dyn::ui
