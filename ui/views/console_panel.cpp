#include "ui/views/console_panel.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTextOption>
#include <QVBoxLayout>
#include <algorithm>

#include "app/session/command.h"
#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

constexpr int kMostLines = 5000;
const char* const kPrompt = "dyn>";
const char* const kMore = "...";

}  // namespace

ConsolePanel::ConsolePanel(Completer completer, std::string historyPath)
    : completer_(std::move(completer)),
      file_(std::move(historyPath)),
      history_(file_.load()),
      at_(history_.size()),
      output_(new QPlainTextEdit),
      prompt_(new QLabel(kPrompt)),
      line_(new QLineEdit) {
  const QFont font = fixedFont();
  output_->setObjectName("consoleOutput");
  output_->setReadOnly(true);
  output_->setMaximumBlockCount(kMostLines);
  output_->setFont(font);
  output_->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  output_->setFrameStyle(QFrame::NoFrame);
  line_->setObjectName("consoleLine");
  line_->setFont(font);
  line_->setFrame(false);
  line_->setPlaceholderText(":help lists the commands; an expression is evaluated; Tab completes");
  line_->setAccessibleName("Command");
  line_->installEventFilter(this);
  prompt_->setFont(font);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 0, 4, 2);
  column->setSpacing(0);
  column->addWidget(output_, 1);
  auto* row = new QHBoxLayout;
  row->addWidget(prompt_);
  row->addWidget(line_, 1);
  column->addLayout(row);
  connect(line_, &QLineEdit::returnPressed, this, &ConsolePanel::enter);
}

void ConsolePanel::append(const QString& text) {
  QString lines = text;
  while (lines.endsWith('\n')) lines.chop(1);
  if (lines.isEmpty()) return;
  output_->appendPlainText(lines);
  output_->verticalScrollBar()->setValue(output_->verticalScrollBar()->maximum());
}

void ConsolePanel::echo(const QString& entry) {
  QString shown = entry;
  append(QString(kPrompt) + " " + shown.replace("\n", QString("\n") + kMore + "  "));
}

QString ConsolePanel::text() const { return output_->toPlainText(); }

void ConsolePanel::takeKeys() { line_->setFocus(); }

void ConsolePanel::setEntry(const QString& text) {
  line_->setText(text);
  line_->setFocus();
}

int ConsolePanel::columns() const {
  const int advance = std::max(1, output_->fontMetrics().horizontalAdvance('0'));
  constexpr int kMargin = 24;
  return std::max(40, (output_->viewport()->width() - kMargin) / advance);
}

void ConsolePanel::enter() {
  unfinished_ += (unfinished_.isEmpty() ? "" : "\n") + line_->text();
  line_->clear();
  if (isOpenEnded(unfinished_.toStdString())) {
    prompt_->setText(kMore);
    return;
  }
  const QString entry = std::exchange(unfinished_, QString());
  prompt_->setText(kPrompt);
  if (entry.trimmed().isEmpty()) return;
  const std::string text = entry.toStdString();
  if (history_.empty() || history_.back() != text) {
    history_.push_back(text);
    file_.append(text);
  }
  at_ = history_.size();
  echo(entry);
  Q_EMIT entered(entry);
}

// To the next entry that begins with what was typed.
void ConsolePanel::recall(int by) {
  if (at_ == history_.size()) typed_ = line_->text();
  for (size_t at = at_; by < 0 ? at > 0 : at < history_.size();) {
    at += static_cast<size_t>(by);
    if (at < history_.size() && !QString::fromStdString(history_[at]).startsWith(typed_)) continue;
    at_ = at;
    QString entry = at == history_.size() ? typed_ : QString::fromStdString(history_[at]);
    line_->setText(entry.replace('\n', ' '));
    return;
  }
}

void ConsolePanel::complete() {
  const QString typed = line_->text().left(line_->cursorPosition());
  const std::string line = (unfinished_ + typed).toStdString();
  const Completion completion = completer_(line, line.size());
  if (completion.candidates.empty()) return;
  std::string common = completion.candidates[0];
  QString list;
  for (const std::string& candidate : completion.candidates) {
    size_t same = 0;
    while (same < std::min(common.size(), candidate.size()) && common[same] == candidate[same]) ++same;
    common.resize(same);
    list += (list.isEmpty() ? "" : "  ") + QString::fromStdString(candidate);
  }
  const bool one = completion.candidates.size() == 1;
  const std::string begun = line.substr(completion.begin);
  if (common.size() > begun.size() || one) {
    const QString all =
        QString::fromStdString(line.substr(0, completion.begin) + common).mid(unfinished_.size());
    const QString rest = line_->text().mid(line_->cursorPosition());
    line_->setText(all + (one && !common.empty() && common.back() != '=' && common.back() != '/' ? " " : "") +
                   rest);
    line_->setCursorPosition(static_cast<int>(line_->text().size() - rest.size()));
  } else {
    append(list);
  }
}

bool ConsolePanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched != line_ || event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  switch (key->key()) {
    case Qt::Key_Up:
      recall(-1);
      return true;
    case Qt::Key_Down:
      recall(1);
      return true;
    case Qt::Key_Tab:
      complete();
      return true;
    case Qt::Key_Escape:
      unfinished_.clear();
      prompt_->setText(kPrompt);
      line_->clear();
      at_ = history_.size();
      return true;
    default:
      return QWidget::eventFilter(watched, event);
  }
}

}  // namespace dyn::ui
