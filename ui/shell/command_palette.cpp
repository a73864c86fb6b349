#include "ui/shell/command_palette.h"

#include <QApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "ui/support/icons.h"
#include "ui/support/theme.h"
#include "ui/support/why_grey.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

constexpr size_t kMostRows = 100;
constexpr int kWidestPalette = 720, kHighestPalette = 440, kFromTop = 56;

struct KindPrefix {
  QChar prefix;
  PaletteKind kind;
};
constexpr KindPrefix kPrefixes[] = {{'>', PaletteKind::action},
                                    {'@', PaletteKind::operation},
                                    {'#', PaletteKind::pass},
                                    {':', PaletteKind::command}};

QString iconOfRow(const PaletteRow& row) {
  return row.kind == PaletteKind::operation ? "modes/outline"
         : row.kind == PaletteKind::pass    ? "modes/passes"
         : row.kind == PaletteKind::command ? "modes/console"
                                            : "actions/commands";
}

}  // namespace

int matchScore(const QString& letters, const QString& text) {
  if (letters.isEmpty()) return 0;
  const QString low = text.toLower(), wanted = letters.toLower();
  const auto begins = [&](qsizetype i) { return i == 0 || !low[i - 1].isLetterOrNumber(); };
  // The words as they are, the earlier the better.
  const qsizetype whole = low.indexOf(wanted);
  if (whole >= 0) return 1000 + (begins(whole) ? 500 : 0) - static_cast<int>(std::min<qsizetype>(whole, 200));
  int score = 0;
  qsizetype at = 0, last = -2;
  for (qsizetype i = 0; i < low.size() && at < wanted.size(); ++i) {
    if (wanted[at] == ' ') ++at;
    if (at >= wanted.size()) break;
    if (low[i] != wanted[at]) continue;
    // Letters go on from the one before, or begin a word; others count little.
    score += last == i - 1 ? 8 : begins(i) ? 10 : 1;
    last = i;
    ++at;
  }
  return at == wanted.size() ? score : -1;
}

CommandPalette::CommandPalette(QWidget* window)
    : QFrame(window), search_(new QLineEdit), rows_(makeTable("paletteRows", {"", "", ""})) {
  setObjectName("palette");
  setAccessibleName("Commands");
  setFrameShape(QFrame::NoFrame);
  setAutoFillBackground(true);
  hide();
  search_->setObjectName("paletteSearch");
  search_->setAccessibleName("Find an action, an operation, a pass or a command");
  search_->setPlaceholderText("Find anything: >action  @operation  #pass  :command");
  search_->installEventFilter(this);
  rows_->horizontalHeader()->hide();
  rows_->setFocusPolicy(Qt::NoFocus);
  rows_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  rows_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kSpaceSmall, kSpaceSmall, kSpaceSmall, kSpaceSmall);
  column->addWidget(search_);
  column->addWidget(rows_, 1);
  window->installEventFilter(this);
  connect(search_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
  connect(search_, &QLineEdit::returnPressed, this, [this] { take(rows_->currentRow()); });
  connect(rows_, &QTableWidget::cellClicked, this, [this](int row, int) { take(row); });
}

void CommandPalette::open(std::vector<PaletteRow> rows, const QString& begun) {
  all_ = std::move(rows);
  if (!isVisible()) before_ = QApplication::focusWidget();
  search_->setText(begun);
  narrow();
  place();
  show();
  raise();
  search_->setFocus();
  qApp->installEventFilter(this);  // a click elsewhere
}

void CommandPalette::place() {
  const QSize room = parentWidget()->size();
  const int width = std::min(kWidestPalette, room.width() - 2 * kSpaceLarge);
  const int needed = search_->sizeHint().height() + 3 * kSpaceSmall +
                     std::max(1, rows_->rowCount()) * rows_->verticalHeader()->defaultSectionSize();
  setGeometry((room.width() - width) / 2, kFromTop, width,
              std::min({needed, kHighestPalette, room.height() - 2 * kFromTop}));
}

void CommandPalette::narrow() {
  QString text = search_->text().trimmed();
  std::optional<PaletteKind> kind;
  for (const auto& [prefix, of] : kPrefixes)
    if (text.startsWith(prefix)) kind = of;
  if (kind) text = text.mid(1).trimmed();
  struct Match {
    int score, uses;
    size_t row;
  };
  std::vector<Match> matches;
  for (size_t i = 0; i < all_.size(); ++i) {
    const PaletteRow& row = all_[i];
    // Of operations there may be thousands: they come when they are named.
    if (kind ? row.kind != *kind : row.kind == PaletteKind::operation && text.isEmpty()) continue;
    int score = matchScore(text, row.text);
    if (score < 0 && row.note.contains(text, Qt::CaseInsensitive)) score = 1;
    if (score < 0) continue;
    if (!kind && row.kind == PaletteKind::operation) score -= 100;
    if (row.action && !row.action->isEnabled()) score -= 1000;  // below all that can be done
    const auto used = uses_.find(row.text);
    matches.push_back({score, used == uses_.end() ? 0 : used->second, i});
  }
  // What was used often comes before what fits a little better.
  constexpr int kUseCounts = 60, kMostUses = 8;
  const auto rank = [&](const Match& m) { return m.score + kUseCounts * std::min(m.uses, kMostUses); };
  std::stable_sort(matches.begin(), matches.end(),
                   [&](const Match& a, const Match& b) { return rank(a) > rank(b); });
  if (matches.size() > kMostRows) matches.resize(kMostRows);
  shown_.clear();
  rows_->setRowCount(0);
  rows_->setRowCount(static_cast<int>(matches.size()));
  for (size_t i = 0; i < matches.size(); ++i) {
    const PaletteRow& row = all_[matches[i].row];
    const int at = static_cast<int>(i);
    shown_.push_back(matches[i].row);
    setCell(rows_, at, 0, row.text);
    rows_->item(at, 0)->setIcon(row.action && !row.action->icon().isNull() ? row.action->icon()
                                                                           : icon(iconOfRow(row)));
    setCell(rows_, at, 1, row.keys, CellAlignment::right);
    const QString why = row.action && !row.action->isEnabled() ? whyGrey(row.action.get()) : QString();
    setCell(rows_, at, 2, why.isEmpty() ? row.note : why);
    if (!why.isEmpty()) rows_->item(at, 0)->setForeground(palette().color(QPalette::PlaceholderText));
    rows_->item(at, 2)->setForeground(palette().color(QPalette::PlaceholderText));
  }
  rows_->resizeColumnToContents(1);
  rows_->resizeColumnToContents(2);
  rows_->setColumnWidth(2, std::min(rows_->columnWidth(2), kWidestPalette / 3));
  if (rows_->rowCount() > 0) rows_->setCurrentCell(0, 0);
  place();
}

void CommandPalette::take(int row) {
  if (row < 0 || static_cast<size_t>(row) >= shown_.size()) return;
  const PaletteRow chosen = all_[shown_[static_cast<size_t>(row)]];
  if (chosen.kind != PaletteKind::operation) ++uses_[chosen.text];  // those of a model are its own
  leave();
  switch (chosen.kind) {
    case PaletteKind::action:
      // It may have gone meanwhile: a recent file, when another model was opened.
      if (chosen.action) chosen.action->trigger();
      break;
    case PaletteKind::operation:
      Q_EMIT nodeChosen(chosen.node);
      break;
    case PaletteKind::pass:
      Q_EMIT stepChosen(chosen.step);
      break;
    case PaletteKind::command:
      Q_EMIT commandChosen(chosen.text + " ");
      break;
  }
}

void CommandPalette::leave() {
  if (!isVisible()) return;
  qApp->removeEventFilter(this);
  hide();
  if (before_) before_->setFocus();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize && isVisible()) place();
  if (event->type() == QEvent::MouseButtonPress && isVisible()) {
    auto* widget = qobject_cast<QWidget*>(watched);
    if (widget && widget != this && !isAncestorOf(widget)) leave();
  }
  const bool isKey = event->type() == QEvent::KeyPress || event->type() == QEvent::ShortcutOverride;
  if (watched != search_ || !isKey) return QFrame::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (event->type() == QEvent::ShortcutOverride) {
    if (key != Qt::Key_Escape) return QFrame::eventFilter(watched, event);
    event->accept();  // it comes here, and to no menu
    return true;
  }
  const int last = rows_->rowCount() - 1, page = std::max(1, rows_->viewport()->height() / 24);
  const int by = key == Qt::Key_Up         ? -1
                 : key == Qt::Key_Down     ? 1
                 : key == Qt::Key_PageUp   ? -page
                 : key == Qt::Key_PageDown ? page
                                           : 0;
  if (key == Qt::Key_Escape) {
    leave();
    return true;
  }
  if (by == 0) return QFrame::eventFilter(watched, event);
  if (last >= 0) rows_->setCurrentCell(std::clamp(rows_->currentRow() + by, 0, last), 0);
  return true;
}

}  // namespace dyn::ui
