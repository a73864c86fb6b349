#include "ui/views/code/code_view.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QHelpEvent>
#include <QMenu>
#include <QMessageBox>
#include <QSaveFile>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <map>

#include "ui/support/save_dialog.h"
#include "ui/views/code/shown_line.h"

namespace dyn::ui {

namespace {

constexpr qsizetype kMostTip = 400;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

size_t findIn(std::string_view text, const std::string& lowered, size_t from) {
  if (lowered.empty() || from > text.size()) return std::string_view::npos;
  const auto at = std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), lowered.begin(),
                              lowered.end(), [](char a, char b) { return lower(a) == b; });
  return at == text.end() ? std::string_view::npos : static_cast<size_t>(at - text.begin());
}

std::string loweredOf(const QString& text) {
  std::string lowered = text.toStdString();
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
  return lowered;
}

}  // namespace

CodeView::CodeView(QWidget* parent)
    : QAbstractScrollArea(parent), full_(std::make_shared<CodeText>()), code_(full_) {
  QFont font("DejaVu Sans Mono");
  font.setStyleHint(QFont::Monospace);
  font.setPixelSize(12);
  setFont(font);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setCursor(Qt::IBeamCursor);
  viewport()->setMouseTracking(true);
  viewport()->setBackgroundRole(QPalette::Base);
  viewport()->setAutoFillBackground(true);
  layOut();
}

void CodeView::setPlainText(const QString& text) { setCode(std::make_shared<CodeText>(text.toStdString())); }

void CodeView::setCode(std::shared_ptr<const CodeText> code) {
  full_ = std::move(code);
  cutNames();
  cursor_ = anchor_ = {};
  chosen_ = hovered_ = standing_ = -1;
  highlights_.clear();
  groups_.clear();
  marks_.clear();
  closed_.clear();
  for (const Fold& fold : code_->folds)
    if (fold.closed) closed_.insert(static_cast<int>(fold.first));
  layOut();
  verticalScrollBar()->setValue(0);
  horizontalScrollBar()->setValue(0);
}

void CodeView::cutNames() {
  code_ = shortNames_ ? std::make_shared<const CodeText>(withShortNames(*full_)) : full_;
}

void CodeView::setShortNames(bool isShort) {
  if (std::exchange(shortNames_, isShort) == isShort) return;
  const int top = verticalScrollBar()->value(), line = cursor_.line;
  cutNames();
  cursor_ = anchor_ = {line, 0};
  layOut();
  verticalScrollBar()->setValue(top);
}

QString CodeView::lineText(int line) const {
  const std::string_view text = full_->line(static_cast<uint32_t>(line));
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

int CodeView::marginWidth() const {
  const size_t digits = std::to_string(std::max(lineCount(), 99)).size();
  return static_cast<int>(std::ceil(cell_ * static_cast<double>(3 + digits + (takesMarks_ ? 2 : 0))));
}

int CodeView::columnsShown() const {
  return std::max(20, static_cast<int>((viewport()->width() - marginWidth() - 4) / cell_));
}

// Which rows each line takes: nothing else is kept of lines that are not seen.
void CodeView::layOut() {
  const QFontMetricsF metrics(font());
  cell_ = std::max(1.0, metrics.horizontalAdvance(QString(100, 'M')) / 100);
  lineHeight_ = std::max(1, static_cast<int>(std::ceil(metrics.height())) + 1);
  const int lines = lineCount(), columns = columnsShown();
  firstRow_.assign(static_cast<size_t>(lines) + 1, 0);
  int row = 0, hiddenTo = -1;
  auto fold = code_->folds.begin();
  for (int line = 0; line < lines; ++line) {
    firstRow_[static_cast<size_t>(line)] = row;
    const int length = static_cast<int>(code_->columns(static_cast<uint32_t>(line)));
    if (line > hiddenTo) row += wrapped_ ? std::max(1, (length + columns - 1) / columns) : 1;
    for (; fold != code_->folds.end() && static_cast<int>(fold->first) == line; ++fold)
      if (closed_.count(line)) hiddenTo = std::max(hiddenTo, static_cast<int>(fold->last));
  }
  firstRow_.back() = row;
  updateScrollBars();
  viewport()->update();
}

void CodeView::updateScrollBars() {
  const int shown = std::max(1, viewport()->height() / lineHeight_);
  verticalScrollBar()->setPageStep(shown);
  verticalScrollBar()->setRange(0, std::max(0, rowCount() - shown));
  const int columns = columnsShown();
  horizontalScrollBar()->setPageStep(columns);
  horizontalScrollBar()->setSingleStep(4);
  horizontalScrollBar()->setRange(
      0, wrapped_ ? 0 : std::max(0, static_cast<int>(code_->widest()) + 2 - columns));
}

bool CodeView::isHidden(int line) const {
  return firstRow_[static_cast<size_t>(line)] == firstRow_[static_cast<size_t>(line) + 1];
}

CodeView::Row CodeView::rowAt(int row) const {
  // Of lines with the same first row the last one has it: the others are hidden.
  const auto after = std::upper_bound(firstRow_.begin(), firstRow_.end() - 1, row);
  const int line = std::max(0, static_cast<int>(after - firstRow_.begin()) - 1);
  return {line, row - firstRow_[static_cast<size_t>(line)]};
}

QRect CodeView::lineRect(int line) const {
  if (line < 0 || line >= lineCount() || isHidden(line)) return {};
  const int top = (rowOf(line) - verticalScrollBar()->value()) * lineHeight_;
  const int rows = firstRow_[static_cast<size_t>(line) + 1] - rowOf(line);
  return QRect(marginWidth(), top, viewport()->width() - marginWidth(), rows * lineHeight_) &
         viewport()->rect();
}

void CodeView::showLine(int line, Reveal reveal) {
  if (line < 0 || line >= lineCount()) return;
  if (isHidden(line)) {
    for (const Fold& fold : code_->folds)
      if (static_cast<int>(fold.first) < line && line <= static_cast<int>(fold.last))
        closed_.erase(static_cast<int>(fold.first));
    layOut();
  }
  cursor_ = anchor_ = {line, 0};
  const int row = rowOf(line), first = verticalScrollBar()->value(), shown = verticalScrollBar()->pageStep();
  const bool seen = row >= first && row < first + shown;
  if (!seen || reveal == Reveal::centre) verticalScrollBar()->setValue(row - shown / 2);
  viewport()->update();
}

void CodeView::setHighlights(std::vector<std::pair<int, QColor>> lines) {
  highlights_ = std::move(lines);
  std::stable_sort(highlights_.begin(), highlights_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  viewport()->update();
}

void CodeView::setGroups(std::vector<int> groups) {
  groups_ = std::move(groups);
  longGroups_.clear();
  constexpr int kLong = 40;  // lines: a page
  std::map<int, int> counts;
  for (const int group : groups_)
    if (group >= 0 && ++counts[group] > kLong) longGroups_.insert(group);
  viewport()->update();
}

void CodeView::setTakesMarks(bool takes) {
  if (std::exchange(takesMarks_, takes) != takes) layOut();
}

void CodeView::setMarks(std::set<int> lines) {
  marks_ = std::move(lines);
  viewport()->update();
}

void CodeView::setStanding(int line) {
  standing_ = line;
  viewport()->update();
}

void CodeView::setWrapped(bool wrapped) {
  if (wrapped_ == wrapped) return;
  const int top = rowAt(verticalScrollBar()->value()).line;
  wrapped_ = wrapped;
  layOut();
  if (top < lineCount()) verticalScrollBar()->setValue(rowOf(top));
}

void CodeView::setFolded(int line, bool folded) {
  const bool isFold = std::any_of(code_->folds.begin(), code_->folds.end(),
                                  [&](const Fold& fold) { return static_cast<int>(fold.first) == line; });
  if (!isFold) return;
  if (folded)
    closed_.insert(line);
  else
    closed_.erase(line);
  layOut();
}

// --- find and selection

int CodeView::findCount(const QString& text) const {
  const std::string lowered = loweredOf(text);
  const auto countIn = [&](const CodeText& code) {
    int count = 0;
    for (size_t at = findIn(code.text(), lowered, 0); at != std::string::npos;
         at = findIn(code.text(), lowered, at + lowered.size()))
      ++count;
    return count;
  };
  const int shown = countIn(*code_);
  return shown > 0 || code_ == full_ ? shown : countIn(*full_);
}

void CodeView::setSought(const QString& text) {
  sought_ = text;
  viewport()->update();
}

bool CodeView::find(const QString& text, Direction direction) {
  setSought(text);
  const std::string lowered = loweredOf(text);
  if (lowered.empty() || lineCount() == 0) return false;
  // What is only in the paths brings them back.
  if (code_ != full_ && findIn(code_->text(), lowered, 0) == std::string::npos) setShortNames(false);
  const int lines = lineCount(), step = direction == Direction::forward ? 1 : -1;
  for (int i = 0; i <= lines; ++i) {
    const int line = ((cursor_.line + step * i) % lines + lines) % lines;
    const std::string_view where = code_->line(static_cast<uint32_t>(line));
    int best = -1;
    for (size_t at = findIn(where, lowered, 0); at != std::string_view::npos;
         at = findIn(where, lowered, at + 1)) {
      const int column = columnOfByte(where, at);
      // In the line of the cursor only what lies beyond it; all of it when everything else was looked at.
      const bool beyond = step > 0 ? !(Position{line, column} < cursor_)
                                   : Position{line, column} < std::min(cursor_, anchor_);
      if (i == 0 && !beyond) continue;
      best = column;
      if (step > 0) break;
    }
    if (best < 0) continue;
    showLine(line, Reveal::ifHidden);
    anchor_ = {line, best};
    cursor_ = {line, best + static_cast<int>(text.size())};
    const int first = horizontalScrollBar()->value();
    if (best < first || cursor_.column > first + columnsShown()) horizontalScrollBar()->setValue(best - 8);
    return true;
  }
  return false;
}

QString CodeView::selectedText() const {
  const auto [begin, end] = std::minmax(cursor_, anchor_);
  if (begin == end) return {};
  QString text;
  if (code_ != full_ && begin.line != end.line) {
    for (int line = begin.line; line <= end.line && line < lineCount(); ++line) text += lineText(line) + "\n";
    return text;
  }
  for (int line = begin.line; line <= end.line && line < lineCount(); ++line) {
    const QString whole = shownText(code_->line(static_cast<uint32_t>(line)));
    const int from = line == begin.line ? begin.column : 0;
    text += line == end.line ? whole.mid(from, end.column - from) : whole.mid(from) + "\n";
  }
  return text;
}

void CodeView::copy() const {
  const QString text = selectedText();
  QApplication::clipboard()->setText(text.isEmpty() && lineCount() > 0 ? lineText(cursor_.line) : text);
}

CodeView::Position CodeView::positionAt(QPoint at) const {
  if (lineCount() == 0) return {};
  const int row =
      std::clamp(verticalScrollBar()->value() + at.y() / lineHeight_, 0, std::max(0, rowCount() - 1));
  const Row where = rowAt(row);
  const int column = static_cast<int>(std::lround((at.x() - marginWidth()) / cell_)) +
                     horizontalScrollBar()->value() + (wrapped_ ? where.part * columnsShown() : 0);
  return {where.line,
          std::clamp(column, 0, static_cast<int>(code_->columns(static_cast<uint32_t>(where.line))))};
}

int CodeView::foldAt(QPoint at) const {
  if (at.x() >= marginWidth() || at.x() < marginWidth() - 2 * cell_ || lineCount() == 0) return -1;
  const int row = verticalScrollBar()->value() + at.y() / lineHeight_;
  if (row >= rowCount()) return -1;
  const Row where = rowAt(row);
  for (const Fold& fold : code_->folds)
    if (static_cast<int>(fold.first) == where.line && where.part == 0) return where.line;
  return -1;
}

void CodeView::moveTo(Position position, bool select) {
  cursor_ = position;
  if (!select) anchor_ = cursor_;
  viewport()->update();
}

void CodeView::choose() {
  if (cursor_.line == chosen_ || !(cursor_ == anchor_) || lineCount() == 0) return;
  chosen_ = cursor_.line;
  Q_EMIT lineChosen(chosen_);
}

void CodeView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const int fold = foldAt(event->pos());
  if (fold >= 0) return setFolded(fold, !isFolded(fold));
  if (takesMarks_ && event->pos().x() < marginWidth() && lineCount() > 0)
    return Q_EMIT markClicked(positionAt(event->pos()).line);
  selecting_ = true;
  moveTo(positionAt(event->pos()), (event->modifiers() & Qt::ShiftModifier) != 0);
}

void CodeView::mouseMoveEvent(QMouseEvent* event) {
  viewport()->setCursor(event->pos().x() < marginWidth() ? Qt::ArrowCursor : Qt::IBeamCursor);
  if (!selecting_) return hover(lineCount() > 0 ? positionAt(event->pos()).line : -1);
  if (event->pos().y() < 0) verticalScrollBar()->setValue(verticalScrollBar()->value() - 1);
  if (event->pos().y() > viewport()->height())
    verticalScrollBar()->setValue(verticalScrollBar()->value() + 1);
  moveTo(positionAt(event->pos()), true);
}

void CodeView::hover(int line) {
  if (std::exchange(hovered_, line) != line) Q_EMIT lineHovered(line);
}

void CodeView::leaveEvent(QEvent* event) {
  QAbstractScrollArea::leaveEvent(event);
  hover(-1);
}

void CodeView::mouseReleaseEvent(QMouseEvent*) {
  if (!std::exchange(selecting_, false)) return;
  choose();
}

// A word, with the letters that names are made of.
void CodeView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (lineCount() == 0 || event->pos().x() < marginWidth()) return;
  const Position at = positionAt(event->pos());
  const QString text = shownText(code_->line(static_cast<uint32_t>(at.line)));
  const auto isWord = [&](int i) {
    return i >= 0 && i < text.size() && (text[i].isLetterOrNumber() || QString("_%@./").contains(text[i]));
  };
  int begin = at.column, end = at.column;
  while (isWord(begin - 1)) --begin;
  while (isWord(end)) ++end;
  anchor_ = {at.line, begin};
  cursor_ = {at.line, end};
  viewport()->update();
}

void CodeView::moveLines(int by, bool select) {
  int line = cursor_.line;
  const int step = by > 0 ? 1 : -1;
  for (int left = std::abs(by); left > 0; --left) {
    int next = line + step;
    while (next >= 0 && next < lineCount() && isHidden(next)) next += step;
    if (next < 0 || next >= lineCount()) break;
    line = next;
  }
  const Position anchor = anchor_;
  showLine(line, Reveal::ifHidden);
  if (select) anchor_ = anchor;
  choose();
}

void CodeView::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copy();
  if (event->matches(QKeySequence::Find)) return Q_EMIT findAsked();
  if (event->matches(QKeySequence::FindNext)) return (void)find(sought_);
  if (event->matches(QKeySequence::FindPrevious)) return (void)find(sought_, Direction::backward);
  if (lineCount() == 0) return QAbstractScrollArea::keyPressEvent(event);
  const bool select = (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool control = (event->modifiers() & Qt::ControlModifier) != 0;
  if (event->matches(QKeySequence::SelectAll)) {
    anchor_ = {};
    return moveTo({lineCount() - 1, static_cast<int>(code_->columns(static_cast<uint32_t>(lineCount() - 1)))},
                  true);
  }
  switch (event->key()) {
    case Qt::Key_Up:
      return moveLines(-1, select);
    case Qt::Key_Down:
      return moveLines(1, select);
    case Qt::Key_PageUp:
      return moveLines(-verticalScrollBar()->pageStep(), select);
    case Qt::Key_PageDown:
      return moveLines(verticalScrollBar()->pageStep(), select);
    case Qt::Key_Home:
      return control ? moveLines(-lineCount(), select) : horizontalScrollBar()->setValue(0);
    case Qt::Key_End:
      return control ? moveLines(lineCount(), select)
                     : horizontalScrollBar()->setValue(
                           static_cast<int>(code_->columns(static_cast<uint32_t>(cursor_.line))) -
                           columnsShown() + 2);
    case Qt::Key_Left:
      return horizontalScrollBar()->setValue(horizontalScrollBar()->value() - 4);
    case Qt::Key_Right:
      return horizontalScrollBar()->setValue(horizontalScrollBar()->value() + 4);
    case Qt::Key_Return:
      chosen_ = -1;
      return choose();
    case Qt::Key_Space:
      return setFolded(cursor_.line, !isFolded(cursor_.line));
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
}

// What the window uses as shortcuts belongs to the text while it has the focus.
bool CodeView::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    auto* key = static_cast<QKeyEvent*>(event);
    if (key->matches(QKeySequence::Find) || key->matches(QKeySequence::FindNext) ||
        key->matches(QKeySequence::FindPrevious) || key->matches(QKeySequence::Copy) ||
        key->matches(QKeySequence::SelectAll)) {
      event->accept();
      return true;
    }
  }
  return QAbstractScrollArea::event(event);
}

// A line whose names are cut, whole.
bool CodeView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip && code_ != full_ && lineCount() > 0) {
    auto* help = static_cast<QHelpEvent*>(event);
    const int line = positionAt(help->pos()).line;
    const QString whole = lineText(line).left(kMostTip);
    const bool isCut = code_->line(static_cast<uint32_t>(line)) != full_->line(static_cast<uint32_t>(line));
    isCut ? QToolTip::showText(help->globalPos(), whole.trimmed(), viewport()) : QToolTip::hideText();
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

bool CodeView::saveTo(const QString& file) const {
  QSaveFile out(file);
  return out.open(QIODevice::WriteOnly) && out.write(toPlainText().toUtf8()) >= 0 && out.commit();
}

void CodeView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu;
  menu.addAction("Copy", this, [this] { copy(); });
  menu.addAction("Find…", this, &CodeView::findAsked);
  menu.addAction(QString::fromUtf8("Save…"), this, [this] {
    const QString file = chooseSaveFile(this, "Write this text", "text.txt", "Text (*.txt)");
    if (!file.isEmpty() && !saveTo(file))
      QMessageBox::warning(this, "dynstudio", file + " could not be written");
  });
  QAction* wrap = menu.addAction("Wrap long lines", this, [this] { setWrapped(!wrapped_); });
  wrap->setCheckable(true);
  wrap->setChecked(wrapped_);
  QAction* names = menu.addAction("Short names", this, [this] { setShortNames(!shortNames_); });
  names->setCheckable(true);
  names->setChecked(shortNames_);
  menu.addAction("Open all folds", this, [this] {
    closed_.clear();
    layOut();
  });
  menu.addAction("Close all folds", this, [this] {
    for (const Fold& fold : code_->folds) closed_.insert(static_cast<int>(fold.first));
    layOut();
  });
  menu.exec(event->globalPos());
}

void CodeView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) layOut();
}

void CodeView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  if (!wrapped_) return updateScrollBars();
  const int top = firstRow_.size() > 1 ? rowAt(verticalScrollBar()->value()).line : 0;
  layOut();
  if (top < lineCount()) verticalScrollBar()->setValue(rowOf(top));
}

}  // namespace dyn::ui
