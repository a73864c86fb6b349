#include "ui/shell/command_palette.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/session/command.h"
#include "ui/views/table.h"

namespace dyn::ui {

CommandPalette::CommandPalette(QWidget* parent)
    : QDialog(parent), search_(new QLineEdit), rows_(makeTable("paletteRows", {"", "", ""})) {
  setObjectName("palette");
  setWindowTitle("Commands");
  resize(760, 460);
  search_->setObjectName("paletteSearch");
  search_->setPlaceholderText("Find an action: type a part of its name");
  search_->installEventFilter(this);
  rows_->horizontalHeader()->hide();
  rows_->setFocusPolicy(Qt::NoFocus);
  auto* column = new QVBoxLayout(this);
  column->addWidget(search_);
  column->addWidget(rows_, 1);
  connect(search_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
  connect(search_, &QLineEdit::returnPressed, this, [this] { take(rows_->currentRow()); });
  connect(rows_, &QTableWidget::cellClicked, this, [this](int row, int) { take(row); });
}

void CommandPalette::open(const QList<QAction*>& actions) {
  actions_.assign(actions.begin(), actions.end());
  const auto& commands = commandTable();
  rows_->setRowCount(0);
  rows_->setRowCount(static_cast<int>(actions_.size() + commands.size()));
  int row = 0;
  for (const QPointer<QAction>& action : actions_) {
    QString text = action->text();
    setCell(rows_, row, 0, text.remove('&'));
    setCell(rows_, row, 1, action->shortcut().toString(QKeySequence::NativeText));
    setCell(rows_, row++, 2, action->isCheckable() ? (action->isChecked() ? "on" : "off") : "");
  }
  for (const CommandSpec& command : commands) {
    setCell(rows_, row, 0,
            ":" + QString::fromUtf8(command.name.data(), static_cast<qsizetype>(command.name.size())));
    setCell(rows_, row++, 2,
            QString::fromUtf8(command.help.data(), static_cast<qsizetype>(command.help.size())));
  }
  rows_->resizeColumnsToContents();
  rows_->horizontalHeader()->setStretchLastSection(true);
  search_->clear();
  narrow({});
  show();
  raise();
  activateWindow();
  search_->setFocus();
}

namespace {

// Are its letters all there, in their order, each run of them at the begin of a word: "expgr" in "Export
// graph"?
bool isAbbreviation(const QString& letters, const QString& text) {
  qsizetype at = 0;
  for (qsizetype i = 0; i < text.size() && at < letters.size(); ++i) {
    const bool begins = i == 0 || !text[i - 1].isLetterOrNumber();
    const bool goesOn = i > 0 && at > 0 && text[i - 1].toLower() == letters[at - 1];
    if ((begins || goesOn) && text[i].toLower() == letters[at]) ++at;
  }
  return at == letters.size();
}

}  // namespace

// Rows that have all words of the text; behind them, for the choice, those that it abbreviates.
void CommandPalette::narrow(const QString& text) {
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  const QString letters = text.toLower().remove(' ');
  int first = -1, abbreviated = -1;
  for (int row = 0; row < rows_->rowCount(); ++row) {
    QString all;
    for (int column = 0; column < rows_->columnCount(); ++column)
      if (const QTableWidgetItem* item = rows_->item(row, column)) all += item->text() + " ";
    const bool shown = std::all_of(words.begin(), words.end(), [&](const QString& word) {
      return all.contains(word, Qt::CaseInsensitive);
    });
    const bool isShort = !shown && isAbbreviation(letters, rows_->item(row, 0)->text());
    rows_->setRowHidden(row, !shown && !isShort);
    if (shown && first < 0) first = row;
    if (isShort && abbreviated < 0) abbreviated = row;
  }
  rows_->setCurrentCell(first >= 0 ? first : abbreviated, 0);
}

void CommandPalette::take(int row) {
  if (row < 0) return;
  close();
  // An action may have gone meanwhile: a recent file, when another model was opened.
  if (static_cast<size_t>(row) < actions_.size()) {
    if (QAction* action = actions_[static_cast<size_t>(row)]) action->trigger();
    return;
  }
  Q_EMIT commandChosen(rows_->item(row, 0)->text() + " ");
}

void CommandPalette::moveBy(int rows) {
  for (int row = rows_->currentRow() + rows; row >= 0 && row < rows_->rowCount(); row += rows)
    if (!rows_->isRowHidden(row)) return rows_->setCurrentCell(row, 0);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == search_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
      moveBy(key == Qt::Key_Up ? -1 : 1);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace dyn::ui
